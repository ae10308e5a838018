#include "network/model_file.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <limits>

#include "network/state_dict.h"
#include "network/support.h"

namespace mdsm::network {
namespace {

using nlohmann::json;

class ModelFile : public ::testing::Test {
 protected:
  // The model's own file with one thing changed.
  void write_changed(const std::function<void(std::vector<io::NamedTensor>&)>& change, const json& spec) {
    std::vector<io::NamedTensor> tensors;
    for (const auto& info : parameters_.layout())
      tensors.push_back({info.name, info.shape, parameters_.at(info)});
    change(tensors);
    io::write_safetensors(folder_ / "m", tensors, {{"format", "mdsm"}, {"spec", spec.dump()}});
  }
  TemporaryFolder folder_;
  Parameters parameters_ = Parameters::initialised(small_spec(), 3);
  json spec_ = to_json(small_spec());
};

TEST_F(ModelFile, RoundTripsSpecWeightsAndInfo) {
  for (const Spec& spec : {small_spec(Network::res34, Head::linear, 3), small_spec()}) {
    const Parameters parameters = Parameters::initialised(spec, 1);
    const json info = {{"preset", "mnist"}, {"note", "1e3"},   {"quoted", "\"a\""},
                       {"steps", 7},        {"flag", true},    {"sampling", {{"eps", 0.02}}},
                       {"null", nullptr},   {"list", {1, "a"}}};
    save_model(folder_ / "m", parameters, info);
    const Model model = load_model(folder_ / "m");
    EXPECT_EQ(model.parameters.spec(), spec);
    EXPECT_TRUE(std::ranges::equal(model.parameters.values(), parameters.values()));
    EXPECT_EQ(model.info, info);
    EXPECT_EQ(io::SafetensorsFile(folder_ / "m").metadata().at("preset"), "mnist");
  }
}

TEST_F(ModelFile, HalfPrecisionIsClose) {
  save_model(folder_ / "m", parameters_, json::object(), io::StoredType::float16);
  const Model model = load_model(folder_ / "m");
  for (size_t i = 0; i < parameters_.values().size(); ++i)
    ASSERT_NEAR(model.parameters.values()[i], parameters_.values()[i], 3e-4);
}

TEST_F(ModelFile, RunFolderGivesTheAveragedWeights) {
  EXPECT_ERROR(load_model(folder_.path()), "a folder without ema.safetensors");
  save_model(folder_ / "ema.safetensors", parameters_, json::object());
  EXPECT_TRUE(std::ranges::equal(load_model(folder_.path()).parameters.values(), parameters_.values()));
}

TEST_F(ModelFile, PyTorchFilesGetAHint) {
  write_state_dict(folder_ / "zip.pt", parameters_);
  EXPECT_ERROR(load_model(folder_ / "zip.pt"), "mdsm import");
  write_file(folder_ / "old.pt", std::string("\x80\x02\x8a\x0a\x6c\xfc\x9c\x46\xf9\x20\x6a\xa8\x50\x19."));
  EXPECT_ERROR(load_model(folder_ / "old.pt"), "mdsm import");
}

TEST_F(ModelFile, RefusesFilesOfOthers) {
  EXPECT_ERROR(load_model(folder_ / "missing"), "no such file");
  const float value = 1;
  io::write_safetensors(folder_ / "m", {{"a", {1}, std::span(&value, 1)}}, {{"format", "pt"}});
  EXPECT_ERROR(load_model(folder_ / "m"), "not an mdsm model");
  io::write_safetensors(folder_ / "m", {}, {{"format", "mdsm"}, {"spec", "{"}});
  EXPECT_ERROR(load_model(folder_ / "m"), "bad network spec");
  spec_["width"] = 5;
  write_changed([](auto&) {}, spec_);
  EXPECT_ERROR(load_model(folder_ / "m"), "width 5");
  spec_["width"] = "wide";
  write_changed([](auto&) {}, spec_);
  EXPECT_ERROR(load_model(folder_ / "m"), "bad network spec");
}

TEST_F(ModelFile, RefusesWrongNamesShapesAndValues) {
  write_changed([](auto& tensors) { tensors.pop_back(); }, spec_);
  EXPECT_ERROR(load_model(folder_ / "m"), "'lq.bias' is missing");
  write_changed([](auto& tensors) { tensors[0].name = "other"; }, spec_);
  EXPECT_ERROR(load_model(folder_ / "m"), "'other' is no parameter");
  write_changed([](auto& tensors) { std::swap(tensors[0].shape[0], tensors[0].shape[2]); }, spec_);
  EXPECT_ERROR(load_model(folder_ / "m"), "(3, 1, 4, 3) instead of (4, 1, 3, 3)");
  spec_["size"] = 4096;  // would need far more memory than the file has weights
  write_changed([](auto&) {}, spec_);
  EXPECT_ERROR(load_model(folder_ / "m"), "'ln1.weight' has shape");
  parameters_.at("rb2.conv_1.conv.weight")[5] = std::numeric_limits<float>::quiet_NaN();
  write_changed([](auto&) {}, to_json(small_spec()));
  EXPECT_ERROR(load_model(folder_ / "m"), "'rb2.conv_1.conv.weight' is not finite");
}

}  // namespace
}  // namespace mdsm::network

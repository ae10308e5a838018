// Detectors as safetensors files: the numbers of the densities, and the options in the metadata.
#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/json.h"
#include "eval/detector.h"
#include "io/checked_safetensors.h"

namespace mdsm::eval {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "mdsm-detector";
constexpr const char* kHint = "fit it again with mdsm score --fit";

// The lists of numbers by name, of a detector to be written or to be read.
template <class State>
auto lists(State& state) {
  using List = std::conditional_t<std::is_const_v<State>, const std::vector<float>, std::vector<float>>;
  std::map<std::string, List*> found = {{"calibration", &state.calibration}};
  const auto names = names_in_order<DetectorPart>();
  for (size_t k = 0; k < kDetectorParts; ++k) {
    auto& density = state.densities[k];
    found[names[k] + ".mean"] = &density.mean;
    found[names[k] + ".scale"] = &density.scale;
    found[names[k] + ".weight"] = &density.weight;
    found[names[k] + ".centre"] = &density.centre;
    found[names[k] + ".factor"] = &density.factor;
  }
  return found;
}

std::vector<std::string> names_of_parts(const PartChoice& parts) {
  const auto names = names_in_order<DetectorPart>();
  std::vector<std::string> out;
  for (size_t k = 0; k < kDetectorParts; ++k)
    if (parts[k]) out.push_back(names[k]);
  return out;
}

PartChoice parts_of(const std::vector<std::string>& given, const JsonObject::Damaged& damaged) {
  const auto names = names_in_order<DetectorPart>();
  PartChoice parts = {};
  for (const std::string& name : given) {
    const auto found = std::ranges::find(names, name);
    if (found == names.end()) damaged("measures");
    parts[static_cast<size_t>(found - names.begin())] = true;
  }
  return parts;
}

json options_of(const DetectorState& state) {
  return {{"image", {state.image.c, state.image.h, state.image.w}},
          {"features", to_string(state.features.kind)},
          {"levels", state.features.levels},
          {"draws", state.features.draws},
          {"seed", state.features.seed},
          {"rate", state.rate},
          {"fitted", state.fitted},
          {"measures", names_of_parts(state.joined)},
          {"centre", state.centre},
          {"spread", state.spread},
          {"heat", state.heat}};
}

template <size_t kCount>
std::array<float, kCount> numbers(const JsonObject& from, const char* key,
                                  const JsonObject::Damaged& damaged) {
  const auto values = from.get<std::vector<float>>(key);
  std::array<float, kCount> out = {};
  if (values.size() != kCount) damaged(key);
  std::ranges::copy(values, out.begin());
  return out;
}

void read_options(const JsonObject& from, DetectorState& state, const JsonObject::Damaged& damaged) {
  const auto image = from.get<std::vector<int64_t>>("image");
  if (image.size() != 3 || image[0] < 1 || image[0] > 16 || std::min(image[1], image[2]) < 1 ||
      std::max(image[1], image[2]) > kMaxDetectorSide)
    damaged("image");
  state.image = {1, image[0], image[1], image[2]};
  const auto kind = from.get<std::string>("features");
  const auto kinds = names_in_order<ScoreFeatures>();
  if (std::ranges::find(kinds, kind) == kinds.end()) damaged("features");
  state.features.kind = from_name<ScoreFeatures>(kind, "features");
  state.features.levels = from.get<std::vector<double>>("levels");
  state.features.draws = from.get<int64_t>("draws");
  state.features.seed = from.get<uint64_t>("seed");
  state.features.energies = false;
  check(state.features);
  state.rate = from.get<double>("rate");
  state.fitted = from.get<int64_t>("fitted");
  if (from.has("measures"))  // all, in files from before there was a choice
    state.joined = parts_of(from.get<std::vector<std::string>>("measures"), damaged);
  state.centre = numbers<kDetectorParts>(from, "centre", damaged);
  state.spread = numbers<kDetectorParts>(from, "spread", damaged);
  state.heat = numbers<2>(from, "heat", damaged);
}

}  // namespace

void save_detector(const fs::path& path, const Detector& detector, const std::string& more) {
  std::vector<io::NamedTensor> tensors;
  for (const auto& [name, values] : lists(detector.state()))
    tensors.push_back({name, {static_cast<int64_t>(values->size())}, *values});
  io::write_checked_safetensors(
      path, tensors,
      {{"format", kFormat}, {"detector", json_text(options_of(detector.state()))}, {"more", more}});
}

LoadedDetector load_detector(const fs::path& path) {
  const io::SafetensorsFile file(path);
  const std::string name = path.string();
  const auto& metadata = file.metadata();
  const auto format = metadata.find("format");
  if (format == metadata.end() || format->second != kFormat || !metadata.contains("detector") ||
      !metadata.contains("more"))
    fail("make one with mdsm score --fit", "{}: no detector", name);
  if (!io::checksum_is_right(file)) fail(kHint, "{}: damaged: the checksum does not fit", name);
  const JsonObject::Damaged damaged = [&](const std::string& what) {
    fail(kHint, "{}: damaged: {}", name, what);
  };
  DetectorState state;
  read_options(JsonObject::parse(metadata.at("detector"), damaged), state, damaged);
  for (const auto& [key, values] : lists(state)) {
    const auto* entry = file.find(key);
    if (!entry) fail(kHint, "{}: damaged: no '{}'", name, key);
    *values = file.read(*entry);
  }
  return {Detector(std::move(state), name), metadata.at("more")};
}

}  // namespace mdsm::eval

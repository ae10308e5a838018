#include "classify/network.h"

#include <algorithm>
#include <cmath>
#include <nlohmann/json.hpp>

#include "classify/columns.h"
#include "core/error.h"
#include "core/json.h"
#include "core/random.h"
#include "linalg/gemm.h"

namespace mdsm::classify {
namespace {

using nlohmann::json;

constexpr const char* kArchitecture = "3 x (convolution 3x3, ReLU, maximum 2x2), dense, ReLU, dense, softmax";
constexpr int64_t kSmallest = 8;  // pixels a side: three poolings leave one

int64_t flat_inputs(const ClassifierSpec& spec) {
  return 4 * spec.width * (spec.input.h / 8) * (spec.input.w / 8);
}

}  // namespace

json to_json(const ClassifierSpec& spec) {
  return {{"architecture", kArchitecture}, {"input", {spec.input.c, spec.input.h, spec.input.w}},
          {"width", spec.width},           {"features", spec.features},
          {"classes", spec.classes},       {"mean", spec.mean},
          {"deviation", spec.deviation}};
}

ClassifierSpec classifier_spec_from_json(const json& values, const std::string& where) {
  const JsonObject from(values, [&](const std::string& what) {
    fail("use a file written by mdsm classifier", "{}: its description of the network is damaged: {}", where,
         what);
  });
  if (from.at("architecture") != kArchitecture)
    fail("use a file written by mdsm classifier", "{}: an unknown architecture", where);
  const auto input = from.get<std::vector<int64_t>>("input");
  if (input.size() != 3) fail("the file is damaged", "{}: an input of {} dimensions", where, input.size());
  ClassifierSpec spec;
  spec.input = {1, input[0], input[1], input[2]};
  spec.width = from.get<int64_t>("width");
  spec.features = from.get<int64_t>("features");
  spec.classes = from.get<int64_t>("classes");
  spec.mean = from.get<float>("mean");
  spec.deviation = from.get<float>("deviation");
  try {
    check(spec);
  } catch (const Error& error) {
    fail("the file is damaged", "{}: {}", where, error.message());
  }
  return spec;
}

void check(const ClassifierSpec& spec) {
  const Shape& in = spec.input;
  const auto within = [](int64_t value, int64_t low, int64_t high) { return value >= low && value <= high; };
  if (!within(in.c, 1, 64) || !within(in.h, kSmallest, 1024) || !within(in.w, kSmallest, 1024))
    fail("use 1 to 64 channels and 8 to 1024 pixels a side (--resize, --pad)",
         "a classifier for images of {}x{}x{}", in.c, in.h, in.w);
  if (!within(spec.width, 1, 1024) || !within(spec.features, 1, 65536) || !within(spec.classes, 2, 100000))
    fail("use 2 classes or more", "a classifier of width {} with {} features and {} classes", spec.width,
         spec.features, spec.classes);
  if (!std::isfinite(spec.mean) || !std::isfinite(spec.deviation) || !(spec.deviation > 0))
    fail("use images that differ", "the values of the images have mean {} and standard deviation {}",
         spec.mean, spec.deviation);
}

std::vector<ClassifierTensor> classifier_layout(const ClassifierSpec& spec) {
  std::vector<ClassifierTensor> layout;
  int64_t offset = 0;
  const auto add = [&](std::string name, std::vector<int64_t> shape) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    layout.push_back({std::move(name), std::move(shape), offset, count});
    offset += count;
  };
  int64_t in = spec.input.c;
  for (int i = 0; i < 3; ++i) {
    const int64_t out = spec.width << i;
    add(fmt::format("conv{}.weight", i + 1), {out, in, 3, 3});
    add(fmt::format("conv{}.bias", i + 1), {out});
    in = out;
  }
  add("features.weight", {spec.features, flat_inputs(spec)});
  add("features.bias", {spec.features});
  add("classes.weight", {spec.classes, spec.features});
  add("classes.bias", {spec.classes});
  return layout;
}

int64_t weight_count(const ClassifierSpec& spec) {
  const auto last = classifier_layout(spec).back();
  return last.offset + last.count;
}

std::vector<float> initial_weights(const ClassifierSpec& spec, uint64_t seed) {
  std::vector<float> weights(static_cast<size_t>(weight_count(spec)));
  uint64_t index = 0;
  for (const auto& tensor : classifier_layout(spec)) {
    if (tensor.shape.size() < 2) continue;
    const std::span<float> part(weights.data() + tensor.offset, static_cast<size_t>(tensor.count));
    RandomStream(seed, Purpose::initialisation, index++).fill_normal(part);
    const auto inputs = static_cast<float>(tensor.count / tensor.shape[0]);
    for (float& value : part) value *= std::sqrt(2 / inputs);
  }
  return weights;
}

ClassifierGroup::ClassifierGroup(const ClassifierSpec& spec, int64_t most)
    : spec_(spec), layout_(classifier_layout(spec)) {
  int64_t h = spec.input.h, w = spec.input.w, columns = 0, before = 0;
  for (size_t i = 0; i < kConvolutions; ++i, h /= 2, w /= 2) {
    const auto& shape = layout_[2 * i].shape;
    Stage stage{shape[1], shape[0], h, w, layout_[2 * i].offset, layout_[2 * i + 1].offset, {}, {}, {}};
    if (i == 0) stage.input.resize(as_size(most * stage.in * h * w));
    stage.before.resize(as_size(most * stage.out * h * w));
    stage.pooled.resize(as_size(most * stage.out * (h / 2) * (w / 2)));
    columns = std::max(columns, stage.in * 9 * h * w);
    before = std::max(before, stage.out * h * w);
    stages_.push_back(std::move(stage));
  }
  columns_.resize(as_size(columns));
  d_columns_.resize(as_size(columns));
  d_before_.resize(as_size(before));
  features_.resize(as_size(most * spec.features));
  d_features_.resize(as_size(most * spec.features));
  output_.resize(as_size(most * spec.classes));
}

}  // namespace mdsm::classify

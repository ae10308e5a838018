#include "network/spec.h"

#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"

namespace mdsm::network {
namespace {

using nlohmann::json;

// Names of the authors' blocks, in order; "rb" blocks halve the image and double the channels.
const std::vector<std::string>& block_names(Network network) {
  static const std::map<Network, std::vector<std::string>> names = {
      {Network::res6, {"rb1", "rb2", "rb3"}},
      {Network::res12, {"rb1", "rbc1", "rb2", "rbc2", "rb3", "rbc3"}},
      {Network::res18, {"rb1", "rbc1", "rbc11", "rb2", "rbc2", "rbc22", "rb3", "rbc3", "rbc33"}},
      {Network::res34,
       {"rb1", "rbc1", "rbc11", "rb2", "rbc2", "rbc22", "rbc222", "rb3", "rbc3", "rbc33", "rbc333", "rbc3333",
        "rbc33333", "rb4", "rbc4", "rbc44"}}};
  return names.at(network);
}

class LayoutBuilder {
 public:
  void add(const std::string& name, std::vector<int64_t> shape, int64_t fan_in) {
    int64_t count = 1;
    for (const int64_t extent : shape) count *= extent;
    layout_.push_back({name, std::move(shape), offset_, count, fan_in});
    offset_ += count;
  }
  void convolution(const std::string& name, int64_t out, int64_t in, int64_t kernel, bool bias) {
    const int64_t fan_in = in * kernel * kernel;
    add(name + ".weight", {out, in, kernel, kernel}, fan_in);
    if (bias) add(name + ".bias", {out}, fan_in);
  }
  void linear(const std::string& name, int64_t inputs) {
    add(name + ".weight", {1, inputs}, inputs);
    add(name + ".bias", {1}, inputs);
  }
  std::vector<ParameterInfo> take() { return std::move(layout_); }

 private:
  std::vector<ParameterInfo> layout_;
  int64_t offset_ = 0;
};

}  // namespace

void validate(const Spec& spec) {
  if (spec.width < 4 || spec.width % 4 != 0 || spec.width > 4096)
    fail_usage("use a multiple of 4 from 4 to 4096", "width {} is not supported", spec.width);
  if (spec.channels < 1 || spec.channels > 1024)
    fail_usage("use 1 to 1024", "{} image channels are not supported", spec.channels);
  const int64_t step = spec.network == Network::res34 ? 16 : 8;
  if (spec.size < step || spec.size % step != 0 || spec.size > 4096)
    fail_usage(fmt::format("{} takes a multiple of {} (pad, crop or resize the images)",
                           to_string(spec.network), step),
               "image size {} is not supported", spec.size);
  if (!(spec.sigma0 > 0) || spec.sigma0 > 100)
    fail_usage("use a value such as 0.1", "sigma0 {} is not supported", spec.sigma0);
  if (!(spec.bowl >= 0) || spec.bowl > 1)
    fail_usage("use a value from 0 (the paper) to 1", "bowl {} is not supported", spec.bowl);
}

std::vector<Block> blocks(const Spec& spec) {
  std::vector<Block> list;
  int64_t channels = spec.width, size = spec.size;
  for (const std::string& name : block_names(spec.network)) {
    const bool down = name.rfind("rbc", 0) != 0;
    list.push_back({name, channels, down ? 2 * channels : channels, size, down});
    channels = list.back().out;
    size = list.back().out_size();
  }
  return list;
}

int64_t features(const Spec& spec) {
  const Block last = blocks(spec).back();
  return last.out * last.out_size() * last.out_size();
}

std::vector<ParameterInfo> parameter_layout(const Spec& spec) {
  LayoutBuilder layout;
  layout.convolution("conv1.conv", spec.width, spec.channels, 3, true);
  for (const Block& block : blocks(spec)) {
    const std::string inner =
        block.down ? ".conv.conv" : ".conv";  // the authors wrap a pooled convolution once more
    layout.convolution(block.name + ".conv_1.conv", block.in, block.in, 3, false);
    layout.convolution(block.name + ".conv_2" + inner, block.out, block.in, 3, true);
    layout.convolution(block.name + ".conv_shortcut" + inner, block.out, block.in, 1, true);
  }
  if (spec.head == Head::quadratic)
    for (const char* name : {"ln1", "ln2", "lq"}) layout.linear(name, features(spec));
  else
    layout.linear("ln", features(spec));
  return layout.take();
}

int64_t parameter_count(const Spec& spec) {
  const auto layout = parameter_layout(spec);
  return layout.back().offset + layout.back().count;
}

int64_t multiply_adds(const Spec& spec) {
  int64_t total = spec.channels * spec.width * 9 * spec.size * spec.size;
  for (const Block& block : blocks(spec)) {
    const int64_t pixels = block.size * block.size, out_pixels = block.out_size() * block.out_size();
    total += block.in * block.in * 9 * pixels;
    total += block.in * block.out * (block.down ? 16 : 9) * out_pixels;
    total += block.in * block.out * out_pixels;
  }
  return total + (spec.head == Head::quadratic ? 3 : 1) * features(spec);
}

json to_json(const Spec& spec) {
  return {{"network", to_string(spec.network)},
          {"width", spec.width},
          {"channels", spec.channels},
          {"size", spec.size},
          {"head", to_string(spec.head)},
          {"sigma0", spec.sigma0},
          {"bowl", spec.bowl}};
}

Spec spec_from_json(const json& values, const std::string& where) {
  Spec spec;
  try {
    spec.network = from_name<Network>(values.at("network").get<std::string>(), "network");
    spec.width = values.at("width").get<int64_t>();
    spec.channels = values.at("channels").get<int64_t>();
    spec.size = values.at("size").get<int64_t>();
    spec.head = from_name<Head>(values.at("head").get<std::string>(), "head");
    spec.sigma0 = values.at("sigma0").get<double>();
    spec.bowl = values.value("bowl", 0.0);  // older files have none
    validate(spec);
  } catch (const json::exception& error) {
    fail("the file is damaged or was written by another program", "{}: bad network spec: {}", where,
         error.what());
  } catch (const Error& error) {
    fail("the file is damaged or was written by another program", "{}: bad network spec: {}", where,
         error.message());
  }
  return spec;
}

}  // namespace mdsm::network

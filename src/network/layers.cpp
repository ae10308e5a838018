#include "network/layers.h"

namespace mdsm::network {
namespace {

// taps: products per output value and input channel, with pooling folded in.
LayerInfo convolution(const std::string& name, const std::string& kind, int64_t in, Shape output,
                      int64_t kernel, int64_t taps, bool bias) {
  return {name, kind, output, in * output.c * kernel * kernel + (bias ? output.c : 0),
          in * output.count() * taps};
}

}  // namespace

std::vector<LayerInfo> layers(const Spec& spec) {
  validate(spec);
  std::vector<LayerInfo> list;
  list.push_back(
      convolution("conv1", "3x3", spec.channels, {1, spec.width, spec.size, spec.size}, 3, 9, true));
  for (const Block& block : blocks(spec)) {
    const Shape inner{1, block.in, block.size, block.size};
    const Shape outer{1, block.out, block.out_size(), block.out_size()};
    list.push_back(convolution(block.name + ".conv_1", "elu, 3x3", block.in, inner, 3, 9, false));
    list.push_back(convolution(block.name + ".conv_2", block.down ? "elu, 3x3, mean 2x2" : "elu, 3x3",
                               block.in, outer, 3, block.down ? 16 : 9, true));
    list.push_back(convolution(block.name + ".conv_shortcut", block.down ? "mean 2x2, 1x1" : "1x1", block.in,
                               outer, 1, 1, true));
  }
  const int64_t inputs = features(spec);
  const Shape scalar{1, 1, 1, 1};
  if (spec.head == Head::quadratic)
    for (const char* name : {"ln1", "ln2", "lq"})
      list.push_back({name, name[1] == 'q' ? "linear in squares" : "linear", scalar, inputs + 1, inputs});
  else
    list.push_back({"ln", "elu, linear", scalar, inputs + 1, inputs});
  return list;
}

}  // namespace mdsm::network

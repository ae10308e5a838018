#include "engine/native/program.h"

#include <algorithm>
#include <numeric>

#include "core/round_up.h"

namespace mdsm::engine::native {
namespace {

void use(std::vector<MapBuffer>& buffers, const MapRef& ref, int instruction) {
  if (!ref) return;
  MapBuffer& buffer = buffers[static_cast<size_t>(ref.buffer)];
  if (buffer.first < 0) buffer.first = instruction;
  buffer.last = instruction;
}

}  // namespace

Program::Program(const Fusion& fusion, Layout layout, Arithmetic arithmetic, Mode mode,
                 const ProgramShape& shape)
    : fusion_(fusion), layout_(layout), arithmetic_(arithmetic), mode_(mode), shape_(shape) {
  build();
  for (size_t i = 0; i < instructions_.size(); ++i) {
    const Instruction& one = instructions_[i];
    for (const MapRef* ref : {&one.src, &one.other, &one.dst, &one.raw, &one.y, &one.delta, &one.ydot,
                              &one.add, &one.second, &one.second_y})
      use(buffers_, *ref, static_cast<int>(i));
  }
  // Each buffer, the largest first, at the lowest place that is free while it is used.
  std::vector<size_t> order(buffers_.size()), placed;
  std::iota(order.begin(), order.end(), 0);
  const auto floats = [&](const MapBuffer& b) {
    const int64_t count = (b.pair ? 2 : 1) * shape_.n * b.planes * b.height * b.width * layout_.block;
    return round_up(arithmetic_ == Arithmetic::bfloat16 && !b.wide ? (count + 1) / 2 : count, 16);
  };
  std::ranges::stable_sort(order, std::greater<>(), [&](size_t i) { return floats(buffers_[i]); });
  for (const size_t i : order) {
    MapBuffer& buffer = buffers_[i];
    if (buffer.first < 0) continue;
    std::vector<const MapBuffer*> beside;
    for (const size_t other : placed)
      if (buffers_[other].first <= buffer.last && buffer.first <= buffers_[other].last)
        beside.push_back(&buffers_[other]);
    std::ranges::sort(beside, {}, &MapBuffer::offset);
    for (const MapBuffer* other : beside) {
      if (buffer.offset + floats(buffer) <= other->offset) break;
      buffer.offset = std::max(buffer.offset, other->offset + floats(*other));
    }
    placed.push_back(i);
    floats_ = std::max(floats_, buffer.offset + floats(buffer));
  }
}

MapShape Program::map_shape(int value) const {
  const network::ValueSize& size = fusion_.graph.size(value);
  return {layout_.padded(size.channels), shape_.height >> size.halvings, shape_.width >> size.halvings,
          layout_.block};
}

ConvolutionShape Program::convolution_shape(const Step& step) const {
  const MapShape in = map_shape(step.from[0]);
  const network::Layer& layer = fusion_.graph.layers[static_cast<size_t>(step.layer)];
  if (step.part.upsampled) {
    const MapShape out = map_shape(step.layer + 1);
    return {shape_.n, out.channels, in.channels, out.height, out.width, 4};
  }
  return {shape_.n,  in.channels, layout_.padded(fusion_.graph.size(step.layer + 1).channels),
          in.height, in.width,    step.pooled ? 4 : layer.kernel};
}

}  // namespace mdsm::engine::native

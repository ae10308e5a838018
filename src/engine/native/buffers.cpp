#include "engine/native/buffers.h"

#include <algorithm>

namespace mdsm::engine::native {
namespace {

class Allocator {
 public:
  explicit Allocator(float* base) : base_(base) {}
  float* take(int64_t count) {
    float* at = base_ ? base_ + used_ : nullptr;
    used_ += (count + 15) / 16 * 16;
    return at;
  }
  // Two maps side by side, as one doubled batch.
  void pair(int64_t count, float*& first, float*& second) {
    first = take(2 * count);
    second = first ? first + count : nullptr;
  }
  int64_t used() const { return used_; }

 private:
  float* base_;
  int64_t used_ = 0;
};

// Maps of n images at a block's input, and where its shortcut reads.
struct Counts {
  int64_t input, shortcut;
};
Counts counts(const network::Block& block, Layout layout, int64_t n) {
  return {layout.count(n, block.in, block.size), layout.count(n, block.in, block.out_size())};
}

void lay_out_training(Allocator& memory, const std::vector<network::Block>& list, Layout layout, int64_t n,
                      Buffers& buffers) {
  int64_t largest_pooled = 0;
  for (const network::Block& block : list)
    if (block.down) largest_pooled = std::max(largest_pooled, counts(block, layout, n).input);
  float* passing_h = memory.take(largest_pooled);  // a pooling block's input is read once and not kept
  for (size_t i = 0; i < list.size(); ++i) {
    BlockBuffers& to = buffers.block[i];
    const Counts c = counts(list[i], layout, n);
    memory.pair(c.input, to.a, to.adot);
    memory.pair(c.input, to.b, to.bdot);
    memory.pair(c.shortcut, to.s, to.sdot);
    to.h = list[i].down ? passing_h : to.s;
    to.hdot = list[i].down ? passing_h : to.sdot;
    to.delta_b = memory.take(c.input);
    to.delta_a = memory.take(c.input);
    memory.pair(c.input, to.gamma_u, to.delta_u);
    memory.pair(c.input, to.gamma_h, to.delta_h);
  }
}

// Like lay_out_training with one term: what enters weight gradients on the way back is kept, and each delta
// is used up before the next is written.
void lay_out_parameters(Allocator& memory, const std::vector<network::Block>& list, Layout layout, int64_t n,
                        Buffers& buffers) {
  int64_t largest = 0, largest_pooled = 0;
  for (const network::Block& block : list) {
    largest = std::max(largest, counts(block, layout, n).input);
    if (block.down) largest_pooled = std::max(largest_pooled, counts(block, layout, n).input);
  }
  float* const passing_h = memory.take(largest_pooled);
  float* const delta[2] = {memory.take(largest), memory.take(largest)};
  float* const delta_u = memory.take(largest);
  for (size_t i = 0; i < list.size(); ++i) {
    BlockBuffers& to = buffers.block[i];
    const Counts c = counts(list[i], layout, n);
    to.a = memory.take(c.input);
    to.b = memory.take(c.input);
    to.s = memory.take(c.shortcut);
    to.h = list[i].down ? passing_h : to.s;
    to.delta_h = delta[i % 2];
    to.delta_u = delta_u;
  }
}

void lay_out_gradient(Allocator& memory, const std::vector<network::Block>& list, Layout layout, int64_t n,
                      bool backward, Buffers& buffers) {
  int64_t largest = 0, largest_shortcut = 0;
  for (const network::Block& block : list) {
    largest = std::max(largest, counts(block, layout, n).input);
    largest_shortcut = std::max(largest_shortcut, counts(block, layout, n).shortcut);
  }
  // h and delta_h alternate between two buffers: a block reads one and writes the next block's into the
  // other.
  float* const h[2] = {memory.take(largest), memory.take(largest)};
  float* const pooled = memory.take(largest_shortcut);
  float* const shared[2] = {backward ? nullptr : memory.take(largest),
                            backward ? nullptr : memory.take(largest)};
  for (size_t i = 0; i < list.size(); ++i) {
    BlockBuffers& to = buffers.block[i];
    const Counts c = counts(list[i], layout, n);
    to.h = h[i % 2];
    to.s = list[i].down ? pooled : to.h;
    to.a = backward ? memory.take(c.input) : shared[0];
    to.b = backward ? memory.take(c.input) : shared[1];
  }
  if (!backward) return;
  float* const delta[2] = {memory.take(largest), memory.take(largest)};
  float* const delta_u = memory.take(largest);
  for (size_t i = 0; i < list.size(); ++i) {
    buffers.block[i].delta_h = delta[i % 2];
    buffers.block[i].delta_u = delta_u;
  }
}

}  // namespace

Buffers lay_out(const network::Spec& spec, Layout layout, Mode mode, int64_t n, int64_t scratch,
                float* base) {
  const std::vector<network::Block> list = network::blocks(spec);
  Allocator memory(base);
  Buffers buffers;
  buffers.block.resize(list.size());
  int64_t largest_shortcut = 0;
  for (const network::Block& block : list)
    largest_shortcut = std::max(largest_shortcut, counts(block, layout, n).shortcut);
  const int64_t last = layout.count(n, list.back().out, list.back().out_size());
  const int64_t image = spec.input(n).count(),
                bordered = n * spec.channels * (spec.size + 2) * (spec.size + 2);
  memory.pair(last, buffers.last_h, buffers.last_hdot);
  memory.pair(last, buffers.last_gamma, buffers.last_delta);
  if (mode != Mode::energy) buffers.shortcut = memory.take(largest_shortcut);
  buffers.scratch = memory.take(scratch);
  buffers.x = memory.take(bordered);
  if (mode == Mode::training) {
    buffers.v = memory.take(bordered);
    buffers.grad_x = memory.take(image);
    lay_out_training(memory, list, layout, n, buffers);
  } else if (mode == Mode::parameters) {
    lay_out_parameters(memory, list, layout, n, buffers);
  } else {
    lay_out_gradient(memory, list, layout, n, mode == Mode::gradient, buffers);
  }
  buffers.count = memory.used();
  return buffers;
}

}  // namespace mdsm::engine::native

#include "engine/native/pointwise.h"

#include <algorithm>

#include "core/threads.h"
#include "engine/native/kernels.h"
#include "engine/native/thread_memory.h"

namespace mdsm::engine::native {
namespace {

constexpr int64_t kPixelsAtOnce = 96;  // about so many, in whole rows of the map
constexpr int64_t kPointwiseSums = 8;  // of a weight gradient

// The plain weights as panels of `columns`, with `rows` below each other; zeros in the padding.
template <class Weight>
FloatBuffer& pack(FloatBuffer& buffer, int64_t rows_padded, int64_t columns_padded, int64_t rows,
                  int64_t columns, int64_t block, const Weight& weight) {
  if (buffer.size() == 0) {
    buffer = FloatBuffer(static_cast<size_t>(rows_padded * columns_padded));
    std::fill_n(buffer.data(), buffer.size(), 0.0f);
  }
  for (int64_t c = 0; c < columns; ++c)
    for (int64_t r = 0; r < rows; ++r)
      buffer.data()[(c / block * rows_padded + r) * block + c % block] = weight(r, c);
  return buffer;
}

}  // namespace

PointwiseWeights::PointwiseWeights(int64_t out, int64_t in, Layout layout)
    : out_(out),
      in_(in),
      block_(layout.block),
      out_padded_(layout.padded(out)),
      in_padded_(layout.padded(in)) {}

void PointwiseWeights::set(const float* plain) {
  plain_ = plain;
  forward_ready_ = backward_ready_ = false;
}

Panels PointwiseWeights::forward() {
  if (!forward_ready_)
    pack(forward_, in_padded_, out_padded_, in_, out_, block_,
         [&](int64_t i, int64_t o) { return plain_[o * in_ + i]; });
  forward_ready_ = true;
  return {forward_.data(), 0, in_padded_ * block_};
}

Panels PointwiseWeights::backward() {
  if (!backward_ready_)
    pack(backward_, out_padded_, in_padded_, out_, in_, block_,
         [&](int64_t o, int64_t i) { return plain_[o * in_ + i]; });
  backward_ready_ = true;
  return {backward_.data(), 0, out_padded_ * block_};
}

void PointwiseWeights::add_gradient(const float* gradient, float* plain) const {
  for (int64_t o = 0; o < out_; ++o)
    for (int64_t i = 0; i < in_; ++i)
      plain[o * in_ + i] += gradient[(o / block_ * in_padded_ + i) * block_ + o % block_];
}

void PointwiseConvolution::run(const MapShape& from, const float* src, Panels weights, const MapShape& to,
                               const Epilogue& epilogue, float* dst) const {
  const Kernels& kernel = kernels();
  const int64_t rows = rows_at_once();
  const int64_t pieces = (to.height + rows - 1) / rows, most = rows * to.width;
  parallel_for(shape_.n * pieces, 1, [&](int64_t first, int64_t last) {
    float* const results = thread_memory(most * to.channels);
    const Panels m{results, 0, most * to.block};
    for (int64_t at = first; at < last; ++at) {
      const int64_t image = at / pieces, row = at % pieces * rows, end = std::min(row + rows, to.height);
      const float* pixels = src + image * from.stride() * from.plane() + row * from.width * from.block;
      kernel.winograd->multiply(0, 1, {(end - row) * to.width, from.channels, to.blocks(), to.block},
                                {const_cast<float*>(pixels), 0, from.plane()}, weights, m);
      kernel.finish_rows(epilogue, to, image, row, end, m, dst);
    }
  });
}

void PointwiseConvolution::forward(MapIn src, PointwiseWeights& weights, const Epilogue& epilogue,
                                   MapOut dst) const {
  run(shape_.input(src.planes), src.data, weights.forward(), shape_.result(dst.planes), epilogue, dst.data);
}

void PointwiseConvolution::backward(MapIn diff_dst, PointwiseWeights& weights, const Epilogue& epilogue,
                                    MapOut diff_src) const {
  run(shape_.result(diff_dst.planes), diff_dst.data, weights.backward(), shape_.input(diff_src.planes),
      epilogue, diff_src.data);
}

int64_t PointwiseConvolution::rows_at_once() const {
  return std::min(shape_.height, std::max<int64_t>(kPixelsAtOnce / shape_.width, 1));
}

int64_t PointwiseConvolution::thread_scratch_count() const {
  return rows_at_once() * shape_.width * std::max(shape_.in, shape_.out);
}

int64_t PointwiseConvolution::sums() const { return std::min(kPointwiseSums, shape_.n); }

int64_t PointwiseConvolution::gradient_scratch_count() const { return sums() * shape_.in * shape_.out; }

void PointwiseConvolution::gradient(MapIn src, MapIn diff_dst, const PointwiseWeights& weights, float* plain,
                                    float* scratch) const {
  const MapShape from = shape_.input(src.planes), to = shape_.result(diff_dst.planes);
  const int64_t count = shape_.in * shape_.out;
  parallel_for(sums(), 1, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) {
      float* const sum = scratch + k * count;
      const int64_t begin = shape_.n * k / sums(), end = shape_.n * (k + 1) / sums();
      for (int64_t i = begin; i < end; ++i)
        kernels().winograd->multiply_tiles(
            0, 1, {shape_.in, from.height * from.width, to.blocks(), to.block, i > begin},
            {const_cast<float*>(src.data) + i * from.stride() * from.plane(), 0, from.plane()},
            {const_cast<float*>(diff_dst.data) + i * to.stride() * to.plane(), 0, to.plane()},
            {sum, 0, shape_.in * shape_.block});
    }
  });
  for (int64_t k = 0; k < sums(); ++k) weights.add_gradient(scratch + k * count, plain);
}

}  // namespace mdsm::engine::native

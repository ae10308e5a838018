#include "engine/native/tile_convolution.h"

#include <algorithm>

#include "core/round_up.h"
#include "core/threads.h"
#include "engine/native/thread_memory.h"

namespace mdsm::engine::native {
namespace {

// What a thread packs at a time: so many values, which its second-level cache holds beside weights and
// results, but not too few positions, as the weights are read for each piece.
constexpr int64_t kPackedValues = 192 * 1024, kLeastPositions = 512;
// The same of a weight gradient, whose sums are read and written for each piece.
constexpr int64_t kGradientValues = 384 * 1024, kLeastGradientPositions = 2048;
// Weight gradients are this many sums over parts of the positions; or, where one is large, a single sum in
// which each thread has some of the outputs.
constexpr int64_t kSums = 8, kLargeSum = 1 << 17, kOutputGroups = 4;

int64_t blocks(int64_t channels, int64_t block) { return (channels + block - 1) / block; }

int64_t floats_for(int64_t halves) { return round_up((halves + 1) / 2, 16); }

Bfloat16* halves(FloatBuffer& buffer) { return reinterpret_cast<Bfloat16*>(buffer.data()); }

// Zeros at first, which padding stays.
void make_halves(FloatBuffer& buffer, int64_t count) {
  if (buffer.size() > 0) return;
  buffer = FloatBuffer(static_cast<size_t>(floats_for(count)));
  std::fill_n(buffer.data(), buffer.size(), 0.0f);
}

// The 3x3 kernel with the mean of four pixels behind it, each of which shifts the kernel: 4x4 weights as
// [phase][tap].
void fold_mean(const float* w, float* to) {
  float rows[4][3];
  for (int64_t x = 0; x < 3; ++x) {
    rows[0][x] = w[x];
    rows[1][x] = w[x] + w[3 + x];
    rows[2][x] = w[3 + x] + w[6 + x];
    rows[3][x] = w[6 + x];
  }
  for (int64_t y = 0; y < 4; ++y) {
    float* const even = to + y % 2 * 8 + y / 2 * 2;
    even[0] = 0.25f * rows[y][0];
    even[1] = 0.25f * (rows[y][1] + rows[y][2]);
    even[4] = 0.25f * (rows[y][0] + rows[y][1]);
    even[5] = 0.25f * rows[y][2];
  }
}

constexpr int64_t kMostWeights = 16;  // of a pair of channels, over all phases

}  // namespace

TileWeights::TileWeights(int64_t out, int64_t in, int64_t kernel, bool pooled)
    : out_(out), in_(in), kernel_(kernel), pooled_(pooled) {}

void TileWeights::set(const float* plain) {
  plain_ = plain;
  ready_ = false;
}

const Bfloat16* TileWeights::forward() {
  pack();
  return halves(forward_);
}

const Bfloat16* TileWeights::backward(int phase) {
  pack();
  return halves(backward_[phase]);
}

void TileWeights::pack() {
  if (ready_) return;
  const int64_t outs = blocks(out_, kTileDepth), ins = blocks(in_, kTileDepth);
  make_halves(forward_, blocks(out_, kTileRows) * phases() * ins * taps() * kTileValues);
  for (int64_t p = 0; p < phases(); ++p)
    make_halves(backward_[p], blocks(in_, kTileRows) * outs * taps() * kTileValues);
  parallel_for(outs * ins, 1, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) pack_block(k / ins * kTileDepth, k % ins * kTileDepth);
  });
  ready_ = true;
}

// Forward: [16 outputs][phase, 32 inputs][tap][pair of inputs][16 outputs][2]. Backward: the same with
// channels exchanged and taps turned round; pixels of a phase see the weights of the opposite one.
void TileWeights::pack_block(int64_t first_out, int64_t first_in) {
  alignas(64) thread_local Bfloat16 squares[kMostWeights][kTileDepth * kTileDepth];
  const int64_t outs = std::min(out_ - first_out, kTileDepth), ins = std::min(in_ - first_in, kTileDepth),
                all = phases() * taps();
  if (outs < kTileDepth || ins < kTileDepth)
    std::fill_n(squares[0], all * kTileDepth * kTileDepth, Bfloat16{});
  for (int64_t o = 0; o < outs; ++o) {
    const float* plain = plain_ + ((first_out + o) * in_ + first_in) * kernel_ * kernel_;
    for (int64_t i = 0; i < ins; ++i, plain += kernel_ * kernel_) {
      float folded[kMostWeights];
      if (pooled_) fold_mean(plain, folded);
      const float* const weights = pooled_ ? folded : plain;
      for (int64_t t = 0; t < all; ++t) squares[t][o * kTileDepth + i] = to_bfloat16(weights[t]);
    }
  }
  const int64_t forward_depth = phases() * blocks(in_, kTileDepth), depth = blocks(out_, kTileDepth);
  for (int64_t t = 0; t < all; ++t) {
    const int64_t phase = t / taps(), tap = t % taps(), opposite = phases() - 1 - phase;
    Bfloat16 *turned[2] = {}, *paired[2] = {};
    for (int64_t half = 0; half < 2; ++half) {
      const int64_t o16 = first_out / kTileRows + half, i16 = first_in / kTileRows + half;
      if (o16 < blocks(out_, kTileRows))
        turned[half] =
            halves(forward_) +
            ((o16 * forward_depth + phase * blocks(in_, kTileDepth) + first_in / kTileDepth) * taps() + tap) *
                kTileValues;
      if (i16 < blocks(in_, kTileRows))
        paired[half] = halves(backward_[opposite]) +
                       ((i16 * depth + first_out / kTileDepth) * taps() + taps() - 1 - tap) * kTileValues;
    }
    tile_kernels().pack_weights(squares[t], turned, paired);
  }
}

void TileWeights::add_gradient(const float* sums, int64_t count, float* plain) const {
  const int64_t outputs = blocks(out_, kTileRows), inputs = blocks(in_, kTileRows),
                all = outputs * inputs * phases() * taps() * 256;
  // The gradients of 16 x 16 pairs of channels, [phase][tap][16][16].
  parallel_for(outputs * inputs, 1, [&](int64_t first, int64_t last) {
    std::vector<float> total(static_cast<size_t>(phases() * taps() * 256));
    for (int64_t pair = first; pair < last; ++pair) {
      const int64_t o16 = pair / inputs, i16 = pair % inputs, block = taps() * 256;
      std::ranges::fill(total, 0.0f);
      for (int64_t k = 0; k < count; ++k)
        for (int64_t phase = 0; phase < phases(); ++phase) {
          const float* const from = sums + k * all + ((o16 * phases() + phase) * inputs + i16) * block;
          float* const to = total.data() + phase * block;
          for (int64_t j = 0; j < block; ++j) to[j] += from[j];
        }
      for (int64_t o = o16 * kTileRows; o < std::min(out_, (o16 + 1) * kTileRows); ++o)
        for (int64_t i = i16 * kTileRows; i < std::min(in_, (i16 + 1) * kTileRows); ++i) {
          float* const to = plain + (o * in_ + i) * kernel_ * kernel_;
          const float* const from = total.data() + o % kTileRows * kTileRows + i % kTileRows;
          if (!pooled_) {
            for (int64_t t = 0; t < taps(); ++t) to[t] += from[t * 256];
            continue;
          }
          for (int64_t y = 0; y < 4; ++y)
            for (int64_t x = 0; x < 4; ++x) {
              const float value = 0.25f * from[((y % 2 * 2 + x % 2) * 4 + y / 2 * 2 + x / 2) * 256];
              for (int64_t a = std::max<int64_t>(y - 1, 0); a <= std::min<int64_t>(y, 2); ++a)
                for (int64_t b = std::max<int64_t>(x - 1, 0); b <= std::min<int64_t>(x, 2); ++b)
                  to[a * 3 + b] += value;
            }
        }
    }
  });
}

// A 1x1 kernel reaches over no border. Of a 3x3 kernel, the border below an image is that above the next one,
// and the one to the right of a row that to the left of the next.
TileConvolution::TileConvolution(const TileShape& shape)
    : shape_(shape),
      rows_(shape.out_height() + (shape.kernel == 1 ? 0 : 1)),
      columns_(shape.out_width() + (shape.kernel == 1 ? 0 : 1)) {
  for (int64_t y = 0; y < shape.reach(); ++y)
    for (int64_t x = 0; x < shape.reach(); ++x) offsets_.push_back(y * columns_ + x);
}

PositionMap TileConvolution::positions(const MapShape& map, int64_t step, int64_t offset_y,
                                       int64_t offset_x) const {
  return {map, shape_.n, rows_, columns_, step, offset_y, offset_x};
}

std::vector<PositionMap> TileConvolution::inputs(int64_t planes) const {
  const MapShape map = shape_.input(planes);
  if (!shape_.pooled()) {
    const int64_t border = shape_.kernel == 1 ? 0 : -1;
    return {positions(map, 1, border, border)};
  }
  std::vector<PositionMap> phases;
  for (int64_t phase = 0; phase < 4; ++phase)
    phases.push_back(positions(map, 2, phase / 2 - 1, phase % 2 - 1));
  return phases;
}

int64_t TileConvolution::positions_for(int64_t rows) const {
  return round_up(rows * columns_, kPositionsAtOnce);
}

int64_t TileConvolution::packed_count(int64_t rows) const {
  return round_up(positions_for(rows) + offsets_.back() + 1, kTileDepth);
}

int64_t TileConvolution::rows_for(int64_t positions) const {
  return std::clamp<int64_t>(positions / columns_, 1, rows());
}

template <class Value>
void TileConvolution::run(const Part& part, const Bfloat16* src, const EpilogueOf<Bfloat16>& epilogue,
                          Value* dst) const {
  const TileKernels& kernel = tile_kernels();
  const int64_t in = part.inputs[0].map.channels, depth = blocks(in, kTileDepth),
                all = depth * static_cast<int64_t>(part.inputs.size()),
                outputs = blocks(part.output.map.channels, kTileRows);
  const int64_t at_once = rows_for(std::max(kPackedValues / (all * kTileDepth), kLeastPositions)),
                pieces = (rows() + at_once - 1) / at_once;
  parallel_for(pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) {
      const RowRange range{piece * at_once, std::min((piece + 1) * at_once, rows())};
      const int64_t count = packed_count(range.last - range.first),
                    results = positions_for(range.last - range.first);
      const int64_t map = floats_for(all * count * kTileDepth);
      float* const memory =
          thread_memory(map + kTileRows * (all > kInputsAtOnce ? outputs * results : 2 * kPositionsAtOnce));
      Bfloat16* const packed = reinterpret_cast<Bfloat16*>(memory);
      Bfloat16* to = packed;
      for (const PositionMap& input : part.inputs) {
        kernel.pack(input, src, {range.first, range.last + shape_.reach() - 1}, count, to);
        to += depth * count * kTileDepth;
      }
      const TileProduct product{results, all, outputs, static_cast<int64_t>(offsets_.size()),
                                offsets_.data()};
      if constexpr (std::is_same_v<Value, float>)
        kernel.convolve_wide(product, packed, count, part.weights, memory + map, epilogue, part.output, range,
                             dst);
      else
        kernel.convolve(product, packed, count, part.weights, memory + map, epilogue, part.output, range,
                        dst);
    }
  });
}

template <class Value>
void TileConvolution::forward_to(Map src, TileWeights& weights, const EpilogueOf<Bfloat16>& epilogue,
                                 MapOutOf<Value> dst) const {
  run({inputs(src.planes), positions(shape_.result(dst.planes), 1, 0, 0), weights.forward()}, src.data,
      epilogue, dst.data);
}

template <class Value>
void TileConvolution::backward_to(Map diff_dst, TileWeights& weights, const EpilogueOf<Bfloat16>& epilogue,
                                  MapOutOf<Value> diff_src) const {
  const MapShape from = shape_.result(diff_dst.planes), to = shape_.input(diff_src.planes);
  if (!shape_.pooled()) {
    const int64_t border = shape_.kernel == 1 ? 0 : -1;
    return run({{positions(from, 1, border, border)}, positions(to, 1, 0, 0), weights.backward(0)},
               diff_dst.data, epilogue, diff_src.data);
  }
  // The pixels of one parity of rows and columns see the same 2x2 taps.
  for (int phase = 0; phase < 4; ++phase)
    run({{positions(from, 1, phase / 2 - 1, phase % 2 - 1)},
         positions(to, 2, phase / 2, phase % 2),
         weights.backward(phase)},
        diff_dst.data, epilogue, diff_src.data);
}

void TileConvolution::forward(Map src, TileWeights& weights, const EpilogueOf<Bfloat16>& epilogue,
                              MapOutOf<Bfloat16> dst) const {
  forward_to(src, weights, epilogue, dst);
}
void TileConvolution::forward(Map src, TileWeights& weights, const EpilogueOf<Bfloat16>& epilogue,
                              MapOut dst) const {
  forward_to(src, weights, epilogue, dst);
}
void TileConvolution::backward(Map diff_dst, TileWeights& weights, const EpilogueOf<Bfloat16>& epilogue,
                               MapOutOf<Bfloat16> diff_src) const {
  backward_to(diff_dst, weights, epilogue, diff_src);
}
void TileConvolution::backward(Map diff_dst, TileWeights& weights, const EpilogueOf<Bfloat16>& epilogue,
                               MapOut diff_src) const {
  backward_to(diff_dst, weights, epilogue, diff_src);
}

int64_t TileConvolution::sum_count() const {
  return static_cast<int64_t>(offsets_.size()) * blocks(shape_.out, kTileRows) *
         blocks(shape_.in, kTileRows) * shape_.phases() * 256;
}

int64_t TileConvolution::sums() const {
  return sum_count() > kLargeSum ? 1 : std::max<int64_t>(std::min(kSums, shape_.n), 1);
}

int64_t TileConvolution::gradient_rows() const {
  const int64_t values = 2 * blocks(shape_.in, kTileRows) * shape_.phases() + blocks(shape_.out, kTileRows);
  return rows_for(std::max(kGradientValues / (values * kTileRows), kLeastGradientPositions));
}

int64_t TileConvolution::thread_scratch_count() const {
  const int64_t in = blocks(shape_.in, kTileDepth) * kTileDepth * shape_.phases(),
                out = blocks(shape_.out, kTileDepth) * kTileDepth, wide = std::max(in, out);
  const int64_t packed = rows_for(std::max(kPackedValues / std::min(in, out), kLeastPositions));
  return std::max(packed_count(packed) * (wide / 2 + 1 + (wide > kInputsAtOnce * kTileDepth ? wide : 0)) +
                      2 * kPositionsAtOnce * kTileRows,
                  (packed_count(gradient_rows()) + 2) * (in + out + kTileRows));
}

int64_t TileConvolution::gradient_scratch_count() const { return sums() * sum_count(); }

void TileConvolution::gradient(Map src, Map diff_dst, const TileWeights& weights, float* plain,
                               float* scratch) const {
  const std::vector<PositionMap> from = inputs(src.planes);
  const int64_t outputs = blocks(shape_.out, kTileRows), at_once = gradient_rows(),
                pieces = (rows() + at_once - 1) / at_once,
                groups = sums() > 1 ? 1 : std::min(kOutputGroups, (outputs + 1) / 2);
  parallel_for(sums() * groups, 1, [&](int64_t first, int64_t last) {
    for (int64_t task = first; task < last; ++task) {
      // Pairs of blocks of outputs stay together.
      const int64_t k = task / groups, group = task % groups, pairs = (outputs + 1) / 2;
      const int64_t begin = 2 * (pairs * group / groups),
                    end = std::min(2 * (pairs * (group + 1) / groups), outputs);
      const int64_t first_piece = pieces * k / sums(), last_piece = pieces * (k + 1) / sums();
      float* const sum = scratch + k * sum_count() + begin * (sum_count() / outputs);
      if (first_piece == last_piece) std::fill_n(sum, (end - begin) * (sum_count() / outputs), 0.0f);
      for (int64_t piece = first_piece; piece < last_piece; ++piece) {
        const RowRange range{piece * at_once, std::min((piece + 1) * at_once, rows())};
        add_products(from, src.data, diff_dst, range, begin, end, piece > first_piece, sum);
      }
    }
  });
  weights.add_gradient(scratch, sums(), plain);
}

// Those of some blocks of outputs and some rows.
void TileConvolution::add_products(const std::vector<PositionMap>& from, const Bfloat16* src, Map diff_dst,
                                   RowRange range, int64_t begin, int64_t end, bool add, float* sum) const {
  const TileKernels& kernel = tile_kernels();
  const int64_t in16 = blocks(shape_.in, kTileRows), all = in16 * shape_.phases();
  const int64_t count = packed_count(range.last - range.first),
                results = positions_for(range.last - range.first);
  const int64_t list = round_up(2 * (count + 2) * kTileRows, 2 * kTileDepth);
  auto* const memory = reinterpret_cast<Bfloat16*>(
      thread_memory(floats_for(list + (2 * all * count + (end - begin) * results) * kTileRows)));
  Bfloat16 *const even = memory + list, *const odd = even + all * count * kTileRows,
                  *const across = odd + all * count * kTileRows;
  for (size_t phase = 0; phase < from.size(); ++phase) {
    const int64_t at = static_cast<int64_t>(phase) * in16 * count * kTileRows;
    kernel.pack_pairs(from[phase], src, {range.first, range.last + shape_.reach() - 1}, count, memory,
                      even + at, offsets_.size() > 1 ? odd + at : nullptr);
  }
  MapShape some = shape_.result(diff_dst.planes);
  const int64_t first_plane = begin * kTileRows / some.block;
  some.planes = some.stride();
  some.channels = std::min(some.channels, end * kTileRows) - begin * kTileRows;
  kernel.pack_across(positions(some, 1, 0, 0), diff_dst.data + first_plane * some.plane(), range, results,
                     memory, across);
  kernel.multiply_gradient(
      {results, all, end - begin, static_cast<int64_t>(offsets_.size()), offsets_.data()}, even, odd, count,
      across, add, sum);
}

}  // namespace mdsm::engine::native

#include "engine/native/tile_convolution.h"

#include <algorithm>

#include "core/round_up.h"
#include "core/threads.h"
#include "engine/native/thread_memory.h"

namespace mdsm::engine::native {
namespace {

constexpr int64_t kCachedValues = 128 * 1024;  // packed values and results a thread works on at a time
constexpr int64_t kLeastPositions = 256;       // so that weights are not read too often
constexpr int64_t kSums = 8, kLargeSums = 1 << 20;

int64_t blocks(int64_t channels, int64_t block) { return (channels + block - 1) / block; }

int64_t floats_for(int64_t halves) { return round_up((halves + 1) / 2, 16); }

}  // namespace

TileWeights::TileWeights(int64_t out, int64_t in, int64_t kernel, bool pooled)
    : out_(out), in_(in), kernel_(kernel), pooled_(pooled) {}

void TileWeights::set(const float* plain) {
  plain_ = plain;
  forward_ready_ = false;
  std::ranges::fill(backward_ready_, false);
}

float TileWeights::weight(int64_t out, int64_t in, Tap tap) const {
  const float* const w = plain_ + (out * in_ + in) * kernel_ * kernel_;
  if (!pooled_) return w[tap.y * kernel_ + tap.x];
  // The mean of four pixels: each of them shifts the kernel.
  float sum = 0;
  for (int a = 0; a < 2; ++a)
    for (int b = 0; b < 2; ++b) {
      const int y = tap.y - a, x = tap.x - b;
      if (y >= 0 && y < 3 && x >= 0 && x < 3) sum += w[y * 3 + x];
    }
  return 0.25f * sum;
}

// [16 outputs][phase, 32 inputs][tap][pair of inputs][16 outputs][2]; weight(output, input, phase, y, x).
template <class Weight>
const Bfloat16* TileWeights::pack(std::vector<Bfloat16>& to, int64_t outputs, int64_t inputs, int64_t phases,
                                  const Weight& weight) const {
  const int64_t side = reach(), taps = side * side, depth = blocks(inputs, kTileDepth);
  to.resize(static_cast<size_t>(blocks(outputs, kTileRows) * phases * depth * taps * kTileValues), 0);
  parallel_for(outputs, 16, [&](int64_t first, int64_t last) {
    for (int64_t o = first; o < last; ++o)
      for (int64_t phase = 0; phase < phases; ++phase)
        for (int64_t i = 0; i < inputs; ++i)
          for (int64_t t = 0; t < taps; ++t) {
            const int64_t tile = ((o / kTileRows * phases + phase) * depth + i / kTileDepth) * taps + t;
            const int64_t at =
                tile * kTileValues + i % kTileDepth / 2 * kTileDepth + o % kTileRows * 2 + i % 2;
            to[static_cast<size_t>(at)] = to_bfloat16(weight(
                o, i, static_cast<int>(phase), static_cast<int>(t / side), static_cast<int>(t % side)));
          }
  });
  return to.data();
}

const Bfloat16* TileWeights::forward() {
  if (!forward_ready_)
    pack(forward_, out_, in_, pooled_ ? 4 : 1, [&](int64_t o, int64_t i, int phase, int y, int x) {
      return pooled_ ? weight(o, i, {2 * y + phase / 2, 2 * x + phase % 2}) : weight(o, i, {y, x});
    });
  forward_ready_ = true;
  return forward_.data();
}

const Bfloat16* TileWeights::backward(int phase) {
  const int last = static_cast<int>(reach()) - 1;
  if (!backward_ready_[phase])
    pack(backward_[phase], in_, out_, 1, [&](int64_t i, int64_t o, int, int y, int x) {
      return pooled_ ? weight(o, i, {3 - phase / 2 - 2 * y, 3 - phase % 2 - 2 * x})
                     : weight(o, i, {last - y, last - x});
    });
  backward_ready_[phase] = true;
  return backward_[phase].data();
}

void TileWeights::add_gradient(const float* sums, float* plain) const {
  const int64_t side = reach(), outputs = blocks(out_, kTileRows), in16 = blocks(in_, kTileRows),
                inputs = in16 * (pooled_ ? 4 : 1);
  const auto sum = [&](int64_t o, int64_t i, int64_t phase, int64_t y, int64_t x) {
    const int64_t tile = ((y * side + x) * outputs + o / kTileRows) * inputs + phase * in16 + i / kTileRows;
    return sums[tile * 256 + o % kTileRows * kTileRows + i % kTileRows];
  };
  parallel_for(out_, 16, [&](int64_t first, int64_t last) {
    for (int64_t o = first; o < last; ++o)
      for (int64_t i = 0; i < in_; ++i) {
        float* const to = plain + (o * in_ + i) * kernel_ * kernel_;
        if (!pooled_) {
          for (int64_t t = 0; t < side * side; ++t) to[t] += sum(o, i, 0, t / side, t % side);
          continue;
        }
        for (int64_t y = 0; y < 4; ++y)
          for (int64_t x = 0; x < 4; ++x) {
            const float value = 0.25f * sum(o, i, y % 2 * 2 + x % 2, y / 2, x / 2);
            for (int64_t a = 0; a < 2; ++a)
              for (int64_t b = 0; b < 2; ++b)
                if (y - a >= 0 && y - a < 3 && x - b >= 0 && x - b < 3) to[(y - a) * 3 + x - b] += value;
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

int64_t TileConvolution::positions_for(int64_t rows) const { return round_up(rows * columns_, kTileDepth); }

int64_t TileConvolution::packed_count(int64_t rows) const {
  return round_up(positions_for(rows) + offsets_.back() + 1, kTileDepth);
}

int64_t TileConvolution::rows_at_once(int64_t values) const {
  const int64_t wanted = std::max(kCachedValues / values, kLeastPositions);
  return std::clamp<int64_t>(wanted / columns_, 1, rows());
}

void TileConvolution::run(const Part& part, const float* src, const Epilogue& epilogue, float* dst) const {
  const TileKernels& kernel = tile_kernels();
  const int64_t in = part.inputs[0].map.channels, depth = blocks(in, kTileDepth),
                all = depth * static_cast<int64_t>(part.inputs.size()),
                outputs = blocks(part.output.map.channels, kTileRows);
  const int64_t at_once = rows_at_once(all * kTileDepth + 2 * outputs * kTileRows),
                pieces = (rows() + at_once - 1) / at_once;
  parallel_for(pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) {
      const RowRange range{piece * at_once, std::min((piece + 1) * at_once, rows())};
      const int64_t count = packed_count(range.last - range.first),
                    results = positions_for(range.last - range.first);
      const int64_t map = floats_for(all * count * kTileDepth);
      float* const memory = thread_memory(map + outputs * results * kTileRows);
      Bfloat16* const packed = reinterpret_cast<Bfloat16*>(memory);
      float* const result = memory + map;
      Bfloat16* to = packed;
      for (const PositionMap& input : part.inputs) {
        kernel.pack(input, src, {range.first, range.last + shape_.reach() - 1}, count, to);
        to += depth * count * kTileDepth;
      }
      kernel.multiply({results, all, outputs, static_cast<int64_t>(offsets_.size()), offsets_.data()}, packed,
                      count, part.weights, result);
      kernel.finish(epilogue, part.output, range, result, results, dst);
    }
  });
}

void TileConvolution::forward(MapIn src, TileWeights& weights, const Epilogue& epilogue, MapOut dst) const {
  run({inputs(src.planes), positions(shape_.result(dst.planes), 1, 0, 0), weights.forward()}, src.data,
      epilogue, dst.data);
}

void TileConvolution::backward(MapIn diff_dst, TileWeights& weights, const Epilogue& epilogue,
                               MapOut diff_src) const {
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

int64_t TileConvolution::thread_scratch_count() const {
  const int64_t in = blocks(shape_.in, kTileDepth) * kTileDepth * shape_.phases(),
                out = blocks(shape_.out, kTileDepth) * kTileDepth, rows = rows_at_once(in + out);
  return packed_count(rows) * (std::max(in, out) + (in + out));
}

int64_t TileConvolution::sum_count() const {
  return static_cast<int64_t>(offsets_.size()) * blocks(shape_.out, kTileRows) *
         blocks(shape_.in, kTileRows) * shape_.phases() * 256;
}

int64_t TileConvolution::sums() const {
  return std::clamp<int64_t>(kLargeSums / sum_count(), 2, std::max<int64_t>(std::min(kSums, shape_.n), 2));
}

int64_t TileConvolution::gradient_scratch_count() const { return sums() * sum_count(); }

void TileConvolution::gradient(MapIn src, MapIn diff_dst, const TileWeights& weights, float* plain,
                               float* scratch) const {
  const TileKernels& kernel = tile_kernels();
  const std::vector<PositionMap> from = inputs(src.planes);
  const PositionMap to = positions(shape_.result(diff_dst.planes), 1, 0, 0);
  const int64_t in16 = blocks(shape_.in, kTileRows), outputs = blocks(shape_.out, kTileRows),
                all = in16 * shape_.phases();
  const int64_t at_once = rows_at_once((2 * all + outputs) * kTileRows),
                pieces = (rows() + at_once - 1) / at_once;
  parallel_for(sums(), 1, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) {
      float* const sum = scratch + k * sum_count();
      std::fill_n(sum, sum_count(), 0.0f);
      for (int64_t piece = pieces * k / sums(); piece < pieces * (k + 1) / sums(); ++piece) {
        const RowRange range{piece * at_once, std::min((piece + 1) * at_once, rows())};
        const int64_t count = packed_count(range.last - range.first),
                      results = positions_for(range.last - range.first);
        auto* const even = reinterpret_cast<Bfloat16*>(
            thread_memory(floats_for((2 * all * count + outputs * results) * kTileRows)));
        Bfloat16 *const odd = even + all * count * kTileRows, *const across = odd + all * count * kTileRows;
        for (size_t phase = 0; phase < from.size(); ++phase) {
          const int64_t at = static_cast<int64_t>(phase) * in16 * count * kTileRows;
          kernel.pack_pairs(from[phase], src.data, {range.first, range.last + shape_.reach() - 1}, count,
                            even + at, odd + at);
        }
        kernel.pack_across(to, diff_dst.data, range, results, across);
        kernel.multiply_gradient(
            {results, all, outputs, static_cast<int64_t>(offsets_.size()), offsets_.data()}, even, odd, count,
            across, sum);
      }
    }
  });
  for (int64_t k = 0; k < sums(); ++k) weights.add_gradient(scratch + k * sum_count(), plain);
}

}  // namespace mdsm::engine::native

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
constexpr int64_t kRowsOfTap = 3;  // that a tap reaches over
constexpr int64_t kTileSums = 8, kLargeSum = 1 << 17, kOutputGroups = 4;

int64_t floats_for(int64_t halves) { return round_up((halves + 1) / 2, 16); }

}  // namespace

// A 1x1 kernel reaches over no border. Of a 3x3 kernel, the border below an image is that above the next one,
// and the one to the right of a row that to the left of the next.
TileConvolution::TileConvolution(const TileShape& shape)
    : shape_(shape),
      rows_(shape.out_height() + (shape.kernel == 1 ? 0 : 1)),
      columns_(shape.out_width() + (shape.kernel == 1 ? 0 : 1)),
      offsets_(offsets(0, 0)) {}

std::vector<int64_t> TileConvolution::offsets(int64_t first_row, int64_t first_column) const {
  std::vector<int64_t> found;
  for (int64_t y = 0; y < shape_.reach(); ++y)
    for (int64_t x = 0; x < shape_.reach(); ++x)
      found.push_back((first_row + y) * columns_ + first_column + x);
  return found;
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

int64_t TileConvolution::packed_count(int64_t rows, int64_t furthest) const {
  return round_up(positions_for(rows) + furthest + 1, kTileDepth);
}

int64_t TileConvolution::rows_for(int64_t positions) const {
  return std::clamp<int64_t>(positions / columns_, 1, rows());
}

template <class Value>
void TileConvolution::run(const std::vector<PositionMap>& inputs, const std::vector<Part>& parts,
                          const Bfloat16* src, const EpilogueOf<Bfloat16>& epilogue, Value* dst) const {
  const TileKernels& kernel = tile_kernels();
  const int64_t depth = divided_up(inputs[0].map.channels, kTileDepth),
                all = depth * static_cast<int64_t>(inputs.size()),
                outputs = divided_up(parts[0].output.map.channels, kTileRows),
                furthest = parts.back().offsets.back();
  const int64_t at_once = rows_for(std::max(kPackedValues / (all * kTileDepth), kLeastPositions)),
                pieces = divided_up(rows(), at_once);
  parallel_for(pieces, 1, [&](int64_t first, int64_t last) {
    for (int64_t piece = first; piece < last; ++piece) {
      const RowRange range{piece * at_once, std::min((piece + 1) * at_once, rows())};
      const int64_t count = packed_count(range.last - range.first, furthest),
                    results = positions_for(range.last - range.first);
      const int64_t map = floats_for(all * count * kTileDepth);
      float* const memory =
          thread_memory(map + kTileRows * (all > kInputsAtOnce ? outputs * results : 2 * kPositionsAtOnce));
      Bfloat16* const packed = reinterpret_cast<Bfloat16*>(memory);
      Bfloat16* to = packed;
      for (const PositionMap& input : inputs) {
        kernel.pack(input, src, {range.first, range.last + furthest / columns_}, count, to);
        to += depth * count * kTileDepth;
      }
      for (const Part& part : parts) {
        const TileProduct product{results, all, outputs, static_cast<int64_t>(part.offsets.size()),
                                  part.offsets.data()};
        if constexpr (std::is_same_v<Value, float>)
          kernel.convolve_wide(product, packed, count, part.weights, memory + map, epilogue, part.output,
                               range, dst);
        else
          kernel.convolve(product, packed, count, part.weights, memory + map, epilogue, part.output, range,
                          dst);
      }
    }
  });
}

template <class Value>
void TileConvolution::forward(Map src, TileWeights& weights, const EpilogueOf<Bfloat16>& epilogue,
                              MapOutOf<Value> dst) const {
  run(inputs(src.planes), {{positions(shape_.result(dst.planes), 1, 0, 0), weights.forward(), offsets_}},
      src.data, epilogue, dst.data);
}

template <class Value>
void TileConvolution::backward(Map diff_dst, TileWeights& weights, const EpilogueOf<Bfloat16>& epilogue,
                               MapOutOf<Value> diff_src) const {
  const int64_t border = shape_.kernel == 1 ? 0 : -1;
  const MapShape to = shape_.input(diff_src.planes);
  std::vector<Part> parts;
  if (!shape_.pooled()) parts = {{positions(to, 1, 0, 0), weights.backward(0), offsets_}};
  // The pixels of one parity of rows and columns see the same 2x2 taps.
  for (int phase = 0; shape_.pooled() && phase < 4; ++phase)
    parts.push_back(
        {positions(to, 2, phase / 2, phase % 2), weights.backward(phase), offsets(phase / 2, phase % 2)});
  run({positions(shape_.result(diff_dst.planes), 1, border, border)}, parts, diff_dst.data, epilogue,
      diff_src.data);
}

template void TileConvolution::forward(Map, TileWeights&, const EpilogueOf<Bfloat16>&, MapOut) const;
template void TileConvolution::forward(Map, TileWeights&, const EpilogueOf<Bfloat16>&,
                                       MapOutOf<Bfloat16>) const;
template void TileConvolution::backward(Map, TileWeights&, const EpilogueOf<Bfloat16>&, MapOut) const;
template void TileConvolution::backward(Map, TileWeights&, const EpilogueOf<Bfloat16>&,
                                        MapOutOf<Bfloat16>) const;

int64_t TileConvolution::sum_count() const {
  return static_cast<int64_t>(offsets_.size()) * divided_up(shape_.out, kTileRows) *
         divided_up(shape_.in, kTileRows) * shape_.phases() * 256;
}

int64_t TileConvolution::sums() const {
  return sum_count() > kLargeSum ? 1 : std::max<int64_t>(std::min(kTileSums, shape_.n), 1);
}

int64_t TileConvolution::gradient_rows() const {
  const int64_t values =
      2 * divided_up(shape_.in, kTileRows) * shape_.phases() + divided_up(shape_.out, kTileRows);
  return rows_for(std::max(kGradientValues / (values * kTileRows), kLeastGradientPositions));
}

int64_t TileConvolution::thread_scratch_count() const {
  const int64_t in = divided_up(shape_.in, kTileDepth) * kTileDepth * shape_.phases(),
                out = divided_up(shape_.out, kTileDepth) * kTileDepth, wide = std::max(in, out);
  const int64_t packed = rows_for(std::max(kPackedValues / std::min(in, out), kLeastPositions));
  return std::max(packed_count(packed, kRowsOfTap * columns_) *
                          (wide / 2 + 1 + (wide > kInputsAtOnce * kTileDepth ? wide : 0)) +
                      2 * kPositionsAtOnce * kTileRows,
                  (packed_count(gradient_rows(), kRowsOfTap * columns_) + 2) * (in + out + kTileRows));
}

int64_t TileConvolution::gradient_scratch_count() const { return sums() * sum_count(); }

void TileConvolution::gradient(Map src, Map diff_dst, const TileWeights& weights, float* plain,
                               float* scratch) const {
  const std::vector<PositionMap> from = inputs(src.planes);
  const int64_t outputs = divided_up(shape_.out, kTileRows), at_once = gradient_rows(),
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
  const int64_t in16 = divided_up(shape_.in, kTileRows), all = in16 * shape_.phases();
  const int64_t count = packed_count(range.last - range.first, offsets_.back()),
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

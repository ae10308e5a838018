#include "engine/native/winograd.h"

#include <algorithm>

#include "core/round_up.h"
#include "core/threads.h"
#include "engine/native/kernels.h"
#include "engine/native/thread_memory.h"

namespace mdsm::engine::native {
namespace {

// A cache line more than needed between points: strides that are a multiple of a page would put all points of
// a tile into the same few places of the first-level cache.
constexpr int64_t kPointGap = 16;
constexpr int64_t kCachedFloats = 128 * 1024;  // transformed values a thread works on at a time
constexpr int64_t kLeastRows = 48, kMostRows = 192;
// Transformed weights larger than this are not read (or added up) by every thread for itself: all threads
// transform a piece together, and then share the points among them.
constexpr int64_t kLargeWeights = 1 << 20;
constexpr int64_t kRowsByPoints = 128;
// With no more tiles than this, reading the transformed weights takes as long as making them anew from the
// plain ones, which are a quarter of their size. Two panels and so many rows at a time: 0.6 MB.
constexpr int64_t kMostRowsToMake = 128, kPanelsMade = 2, kRowsMade = 128;
constexpr int64_t kTileGrain = 8;  // tiles that are worth a thread's while in one stage
// Partial sums of a weight gradient: two of few tiles, more where each has many, as each costs a pass over
// the transformed weights.
constexpr int64_t kMostGradientParts = 8, kLeastTilesOfTwo = 32, kLeastTilesOfPart = 128;

// Tiles at a time, for a transformed size of `floats` a tile.
int64_t rows_at_once(int64_t floats, int64_t tiles) {
  const int64_t rows = std::clamp(kCachedFloats / floats / 12 * 12, kLeastRows, kMostRows);
  return std::min(rows, tiles);
}

Panels from_panel(Panels panels, int64_t panel) {
  return {panels.data + panel * panels.panel_stride, panels.point_stride, panels.panel_stride};
}

}  // namespace

WinogradWeights::WinogradWeights(int64_t out, int64_t in, bool pooled, Layout layout)
    : shape_{out, in, layout.block, pooled}, in_padded_(layout.padded(in)), out_padded_(layout.padded(out)) {}

void WinogradWeights::set(const float* plain) {
  plain_ = plain;
  forward_ready_ = false;
  std::ranges::fill(backward_ready_, false);
}

Panels WinogradWeights::memory(FloatBuffer& buffer, int64_t panels, int64_t rows) const {
  const int64_t points = shape_.pooled ? 25 : 36, panel = rows * shape_.block,
                point = panels * panel + kPointGap;
  if (buffer.size() == 0) {
    buffer = FloatBuffer(static_cast<size_t>(points * point));
    std::fill_n(buffer.data(), buffer.size(), 0.0f);  // rows of padding channels stay so
  }
  return {buffer.data(), point, panel};
}

Panels WinogradWeights::forward() {
  const int64_t panels = out_padded_ / shape_.block;
  const Panels u = memory(forward_, panels, in_padded_ * (shape_.pooled ? 4 : 1));
  if (!forward_ready_)
    parallel_for(panels, 1, [&](int64_t first, int64_t last) {
      kernels().winograd->weights(shape_, plain_, {first, last - first, 0, shape_.in}, from_panel(u, first));
    });
  forward_ready_ = true;
  return u;
}

Panels WinogradWeights::backward(int phase) {
  const int64_t panels = in_padded_ / shape_.block;
  const Panels u = memory(backward_[phase], panels, out_padded_);
  if (!backward_ready_[phase])
    parallel_for(panels, 1, [&](int64_t first, int64_t last) {
      kernels().winograd->weights_back(shape_, plain_, phase / 2, phase % 2,
                                       {first, last - first, 0, shape_.out}, from_panel(u, first));
    });
  backward_ready_[phase] = true;
  return u;
}

void WinogradWeights::make_forward(const WeightRange& range, Panels u) const {
  kernels().winograd->weights(shape_, plain_, range, u);
  clear_rows(u, range, shape_.in);
}

void WinogradWeights::make_backward(const WeightRange& range, Panels u) const {
  kernels().winograd->weights_back(shape_, plain_, 0, 0, range, u);
  clear_rows(u, range, shape_.out);
}

// Rows of padding channels.
void WinogradWeights::clear_rows(Panels u, const WeightRange& range, int64_t channels) const {
  const int64_t from = std::max(channels, range.first_row) - range.first_row;
  if (from >= range.rows) return;
  for (int64_t point = 0; point < 36; ++point)
    for (int64_t panel = 0; panel < range.panels; ++panel)
      std::fill_n(u.data + point * u.point_stride + panel * u.panel_stride + from * shape_.block,
                  (range.rows - from) * shape_.block, 0.0f);
}

WinogradConvolution::WinogradConvolution(const WinogradShape& shape) : shape_(shape) {}

WinogradConvolution::Sizes WinogradConvolution::sizes(int64_t in, int64_t out) const {
  const int64_t points = shape_.points() * shape_.points(), rows_used = rows(in, out);
  const int64_t v_point = in * rows_used + kPointGap, m_point = out * rows_used + kPointGap;
  return {rows_used, v_point, round_up(points * v_point, 16), m_point, round_up(points * m_point, 16)};
}

bool WinogradConvolution::by_points() const {
  return shape_.points() * shape_.points() * shape_.in * shape_.phases() * shape_.out > kLargeWeights;
}

bool WinogradConvolution::makes_weights() const {
  return by_points() && !shape_.pooled && shape_.tiles() <= kMostRowsToMake;
}

Panels WinogradConvolution::made_panels(float* memory) const {
  const int64_t panel = kRowsMade * shape_.block;
  return {memory, kPanelsMade * panel + kPointGap, panel};
}

int64_t WinogradConvolution::rows(int64_t in, int64_t out) const {
  if (by_points()) return std::min(kRowsByPoints, shape_.tiles());
  return rows_at_once(shape_.points() * shape_.points() * (in + out), shape_.tiles());
}

// Transformed inputs and results: of the threads together, or of each.
int64_t WinogradConvolution::transformed_count() const {
  const Sizes forward = sizes(shape_.in * shape_.phases(), shape_.out),
              backward = sizes(shape_.out, shape_.in);
  return std::max(forward.v + forward.m, backward.v + backward.m);
}

int64_t WinogradConvolution::kept_weight_count() const {
  return makes_weights() ? 0 : shape_.points() * shape_.points() * shape_.phases() * shape_.in * shape_.out;
}

int64_t WinogradConvolution::scratch_count() const { return by_points() ? transformed_count() : 0; }

int64_t WinogradConvolution::thread_scratch_count() const {
  if (makes_weights()) return shape_.points() * shape_.points() * made_panels(nullptr).point_stride;
  return by_points() ? 0 : transformed_count();
}

std::vector<TileMap> WinogradConvolution::inputs(int64_t planes) const {
  const MapShape map = shape_.input(planes);
  const int64_t down = shape_.tiles_down(), across = shape_.tiles_across();
  if (!shape_.pooled) return {{map, down, across, 1, -1, -1}};
  std::vector<TileMap> phases;
  for (int64_t phase = 0; phase < 4; ++phase)
    phases.push_back({map, down, across, 2, phase / 2 - 1, phase % 2 - 1});
  return phases;
}

TileMap WinogradConvolution::results(int64_t planes) const {
  return {shape_.result(planes), shape_.tiles_down(), shape_.tiles_across(), 1, 0, 0};
}

void WinogradConvolution::transform(const Part& part, const float* src, TileRange range, Panels v) const {
  for (const TileMap& input : part.inputs) {
    kernels().winograd->input(shape_.points(), input, src, range, v);
    v.data += input.map.channels / shape_.block * v.panel_stride;
  }
}

void WinogradConvolution::run(std::span<const Part> parts, const float* src, int64_t in, int64_t out,
                              const Epilogue& epilogue, float* dst, float* scratch) const {
  const Sizes s = sizes(in, out);
  by_points() ? run_by_points(parts, s, src, in, out, epilogue, dst, scratch)
              : run_by_tiles(parts, s, src, in, out, epilogue, dst);
}

void WinogradConvolution::run_by_tiles(std::span<const Part> parts, const Sizes& s, const float* src,
                                       int64_t in, int64_t out, const Epilogue& epilogue, float* dst) const {
  const WinogradKernels& kernel = *kernels().winograd;
  const int points = shape_.points();
  const int64_t tiles = shape_.tiles(), block = shape_.block;
  // Whole pieces where there are enough of them for all threads, and otherwise equal ones.
  const int64_t threads = thread_count(), whole = (tiles + s.rows - 1) / s.rows;
  const bool many = whole >= 4 * threads;
  const int64_t pieces = many ? whole : std::min(tiles, round_up(whole, threads));
  const auto begin_of = [&](int64_t piece) {
    return many ? std::min(tiles, piece * s.rows) : tiles * piece / pieces;
  };
  parallel_for(pieces, 1, [&](int64_t first, int64_t last) {
    float* const memory = thread_memory(s.v + s.m);
    const Panels v{memory, s.v_point, s.rows * block}, m{memory + s.v, s.m_point, s.rows * block};
    for (int64_t piece = first; piece < last; ++piece) {
      const TileRange range{begin_of(piece), begin_of(piece + 1) - begin_of(piece)};
      for (const Part& part : parts) {
        transform(part, src, range, v);
        kernel.multiply(0, points * points, {range.count, in, out / block, block}, v, part.weights.kept, m);
        kernel.output(points, part.output, m, range, epilogue, dst);
      }
    }
  });
}

void WinogradConvolution::run_by_points(std::span<const Part> parts, const Sizes& s, const float* src,
                                        int64_t in, int64_t out, const Epilogue& epilogue, float* dst,
                                        float* scratch) const {
  const WinogradKernels& kernel = *kernels().winograd;
  const int points = shape_.points();
  const int64_t tiles = shape_.tiles(), block = shape_.block;
  const Panels v{scratch, s.v_point, s.rows * block}, m{scratch + s.v, s.m_point, s.rows * block};
  for (int64_t at = 0; at < tiles; at += s.rows) {
    const int64_t count = std::min(s.rows, tiles - at);
    for (const Part& part : parts) {
      parallel_for(count, kTileGrain, [&](int64_t first, int64_t last) {
        transform(part, src, {at + first, last - first}, from_row(v, first));
      });
      if (part.weights.make)
        multiply_by_panels(part, count, in, out, v, m);
      else
        parallel_for(points * points, 1, [&](int64_t first, int64_t last) {
          kernel.multiply(first, last, {count, in, out / block, block}, v, part.weights.kept, m);
        });
      parallel_for(count, kTileGrain, [&](int64_t first, int64_t last) {
        kernel.output(points, part.output, from_row(m, first), {at + first, last - first}, epilogue, dst);
      });
    }
  }
}

TransformedWeights WinogradConvolution::forward_weights(WinogradWeights& weights) const {
  if (!makes_weights()) return {weights.forward(), {}};
  return {{}, [&weights](const WeightRange& range, Panels u) { weights.make_forward(range, u); }};
}

TransformedWeights WinogradConvolution::backward_weights(WinogradWeights& weights) const {
  if (!makes_weights()) return {weights.backward(0), {}};
  return {{}, [&weights](const WeightRange& range, Panels u) { weights.make_backward(range, u); }};
}

// Every thread makes the weights of some results, and multiplies with them at all points. The sums are added
// up in the order of kept weights.
void WinogradConvolution::multiply_by_panels(const Part& part, int64_t tiles, int64_t in, int64_t out,
                                             Panels v, Panels m) const {
  const int64_t block = shape_.block, panels = out / block;
  parallel_for((panels + kPanelsMade - 1) / kPanelsMade, 1, [&](int64_t first, int64_t last) {
    const Panels u = made_panels(thread_memory(thread_scratch_count()));
    for (int64_t panel = first * kPanelsMade; panel < std::min(last * kPanelsMade, panels);
         panel += kPanelsMade)
      for (int64_t row = 0; row < in; row += kRowsMade) {
        const WeightRange range{panel, std::min(kPanelsMade, panels - panel), row,
                                std::min(kRowsMade, in - row)};
        part.weights.make(range, u);
        kernels().winograd->multiply(0, shape_.points() * shape_.points(),
                                     {tiles, range.rows, range.panels, block, row > 0},
                                     from_panel(v, row / block), u, from_panel(m, panel));
      }
  });
}

void WinogradConvolution::forward(MapIn src, WinogradWeights& weights, const Epilogue& epilogue, MapOut dst,
                                  float* scratch) const {
  const Part part{inputs(src.planes), results(dst.planes), forward_weights(weights)};
  run({&part, 1}, src.data, shape_.in * shape_.phases(), shape_.out, epilogue, dst.data, scratch);
}

void WinogradConvolution::backward(MapIn diff_dst, WinogradWeights& weights, const Epilogue& epilogue,
                                   MapOut diff_src, float* scratch) const {
  const MapShape from = shape_.result(diff_dst.planes), to = shape_.input(diff_src.planes);
  const int64_t down = shape_.tiles_down(), across = shape_.tiles_across();
  std::vector<Part> parts;
  if (!shape_.pooled)
    parts.push_back(
        {{{from, down, across, 1, -1, -1}}, {to, down, across, 1, 0, 0}, backward_weights(weights)});
  // The pixels of one parity of rows and columns see the same 2x2 taps.
  for (int phase = 0; shape_.pooled && phase < 4; ++phase)
    parts.push_back({{{from, down, across, 1, phase / 2 - 1, phase % 2 - 1}},
                     {to, down, across, 2, phase / 2, phase % 2},
                     {weights.backward(phase), {}}});
  run(parts, diff_dst.data, shape_.out, shape_.in, epilogue, diff_src.data, scratch);
}

Panels WinogradConvolution::from_row(Panels panels, int64_t row) const {
  return {panels.data + row * shape_.block, panels.point_stride, panels.panel_stride};
}

int64_t WinogradConvolution::gradient_parts() const {
  if (by_points() || shape_.tiles() < kLeastTilesOfTwo) return 1;
  int64_t parts = 2;
  while (parts < kMostGradientParts && 2 * parts * kLeastTilesOfPart <= shape_.tiles()) parts *= 2;
  return parts;
}

int64_t WinogradConvolution::products_count() const {
  return shape_.points() * shape_.points() * (shape_.in * shape_.phases() * shape_.out + kPointGap);
}

int64_t WinogradConvolution::gradient_scratch_count() const {
  return scratch_count() + products_count() * gradient_parts();
}

void WinogradConvolution::transform_for_gradient(MapIn src, MapIn diff_dst, TileRange range, Panels v,
                                                 Panels w) const {
  transform({inputs(src.planes), {}, {}}, src.data, range, v);
  kernels().winograd->gradient(shape_.points(), results(diff_dst.planes), diff_dst.data, range, w);
}

// Transformed inputs and result gradients, and their products.
WinogradConvolution::GradientPanels WinogradConvolution::gradient_panels(float* transformed,
                                                                         float* products) const {
  const int64_t in = shape_.in * shape_.phases();
  const Sizes s = sizes(in, shape_.out);
  const int64_t u_point = in * shape_.out + kPointGap, step = s.rows * shape_.block;
  return {{transformed, s.v_point, step},
          {transformed ? transformed + s.v : nullptr, s.m_point, step},
          {products, u_point, in * shape_.block}};
}

void WinogradConvolution::gradient_by_tiles(MapIn src, MapIn diff_dst, float* products) const {
  const int64_t points = shape_.points() * shape_.points(), in = shape_.in * shape_.phases(),
                block = shape_.block;
  const int64_t tiles = shape_.tiles(), parts = gradient_parts(), rows_used = rows(in, shape_.out);
  parallel_for(parts, 1, [&](int64_t first_part, int64_t last_part) {
    float* const memory = thread_memory(transformed_count());
    for (int64_t part = first_part; part < last_part; ++part) {
      const auto [v, w, u] = gradient_panels(memory, products + part * products_count());
      const int64_t begin = tiles * part / parts, end = tiles * (part + 1) / parts;
      for (int64_t at = begin; at < end; at += rows_used) {
        const TileRange range{at, std::min(rows_used, end - at)};
        transform_for_gradient(src, diff_dst, range, v, w);
        kernels().winograd->multiply_tiles(0, points,
                                           {in, range.count, shape_.out / block, block, at > begin}, v, w, u);
      }
    }
  });
}

void WinogradConvolution::gradient_by_points(MapIn src, MapIn diff_dst, float* transformed,
                                             float* products) const {
  const int64_t points = shape_.points() * shape_.points(), in = shape_.in * shape_.phases(),
                block = shape_.block;
  const int64_t tiles = shape_.tiles(), rows_used = rows(in, shape_.out);
  const GradientPanels p = gradient_panels(transformed, products);
  for (int64_t at = 0; at < tiles; at += rows_used) {
    const int64_t count = std::min(rows_used, tiles - at);
    parallel_for(count, kTileGrain, [&](int64_t first, int64_t last) {
      transform_for_gradient(src, diff_dst, {at + first, last - first}, from_row(p.v, first),
                             from_row(p.w, first));
    });
    parallel_for(points, 1, [&](int64_t first, int64_t last) {
      kernels().winograd->multiply_tiles(first, last, {in, count, shape_.out / block, block, at > 0}, p.v,
                                         p.w, p.u);
    });
  }
}

void WinogradConvolution::gradient(MapIn src, MapIn diff_dst, const WinogradWeights& weights, float* plain,
                                   float* scratch) const {
  float* const products = scratch + scratch_count();
  by_points() ? gradient_by_points(src, diff_dst, scratch, products)
              : gradient_by_tiles(src, diff_dst, products);
  parallel_for(shape_.out / shape_.block, 1, [&](int64_t first, int64_t last) {
    for (int64_t part = 0; part < gradient_parts(); ++part)
      kernels().winograd->add_weights_gradient(weights.plain_shape(),
                                               gradient_panels(nullptr, products + part * products_count()).u,
                                               first, last, plain);
  });
}

}  // namespace mdsm::engine::native

#include "engine/native/winograd.h"

#include <algorithm>

#include "core/threads.h"
#include "engine/native/kernels.h"

namespace mdsm::native {
namespace {

// A cache line more than needed between points: strides that are a multiple of a page would put all points of
// a tile into the same few places of the first-level cache.
constexpr int64_t kPointGap = 16;
constexpr int64_t kCachedFloats = 128 * 1024;  // transformed values a thread works on at a time
constexpr int64_t kLeastRows = 48, kMostRows = 192;
// Weight gradients larger than this are not kept once per thread.
constexpr int64_t kLargeGradient = 1 << 20;

int64_t round_up(int64_t value, int64_t to) { return (value + to - 1) / to * to; }

// Tiles at a time, for a transformed size of `floats` a tile.
int64_t rows_at_once(int64_t floats, int64_t tiles) {
  const int64_t rows = std::clamp(kCachedFloats / floats / 12 * 12, kLeastRows, kMostRows);
  return std::min(rows, tiles);
}

}  // namespace

WinogradWeights::WinogradWeights(int64_t out, int64_t in, bool pooled, Layout layout)
    : shape_{out, in, layout.block, pooled}, in_padded_(layout.padded(in)), out_padded_(layout.padded(out)) {}

void WinogradWeights::set(const float* plain) {
  plain_ = plain;
  forward_ready_ = false;
  std::ranges::fill(backward_ready_, false);
}

Panels WinogradWeights::make(FloatBuffer& buffer, int64_t panels, int64_t rows) const {
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
  const Panels u = make(forward_, panels, in_padded_ * (shape_.pooled ? 4 : 1));
  if (!forward_ready_)
    parallel_for(panels, 1, [&](int64_t first, int64_t last) {
      kernels().winograd->weights(shape_, plain_, first, last, u);
    });
  forward_ready_ = true;
  return u;
}

Panels WinogradWeights::backward(int phase) {
  const int64_t panels = in_padded_ / shape_.block;
  const Panels u = make(backward_[phase], panels, out_padded_);
  if (!backward_ready_[phase])
    parallel_for(panels, 1, [&](int64_t first, int64_t last) {
      kernels().winograd->weights_back(shape_, plain_, phase / 2, phase % 2, first, last, u);
    });
  backward_ready_[phase] = true;
  return u;
}

WinogradConvolution::WinogradConvolution(const WinogradShape& shape)
    : shape_(shape), threads_(thread_count()) {}

WinogradConvolution::Sizes WinogradConvolution::sizes(int64_t rows, int64_t in, int64_t out) const {
  const int64_t points = shape_.points() * shape_.points();
  const int64_t v_point = in * rows + kPointGap, m_point = out * rows + kPointGap;
  return {rows, v_point, round_up(points * v_point, 16), m_point, round_up(points * m_point, 16)};
}

int64_t WinogradConvolution::scratch_count() const {
  const int64_t points = shape_.points() * shape_.points();
  int64_t most = 0;
  const int64_t ways[2][2] = {{shape_.in * shape_.phases(), shape_.out}, {shape_.out, shape_.in}};
  for (const auto& [in, out] : ways) {
    const Sizes s = sizes(rows_at_once(points * (in + out), shape_.tiles()), in, out);
    most = std::max(most, s.v + s.m);
  }
  return most * threads_;
}

std::vector<TileMap> WinogradConvolution::inputs() const {
  const MapShape map{shape_.in, shape_.size, shape_.block};
  const int64_t tiles = shape_.tiles_a_side();
  if (!shape_.pooled) return {{map, tiles, 1, -1, -1}};
  std::vector<TileMap> phases;
  for (int64_t phase = 0; phase < 4; ++phase) phases.push_back({map, tiles, 2, phase / 2 - 1, phase % 2 - 1});
  return phases;
}

TileMap WinogradConvolution::results() const {
  return {{shape_.out, shape_.out_size(), shape_.block}, shape_.tiles_a_side(), 1, 0, 0};
}

void WinogradConvolution::run(std::span<const Part> parts, const float* src, int64_t in, int64_t out,
                              const Epilogue& epilogue, float* dst, float* scratch) const {
  const WinogradKernels& kernel = *kernels().winograd;
  const int points = shape_.points();
  const int64_t tiles = shape_.tiles(), block = shape_.block;
  const Sizes s = sizes(rows_at_once(points * points * (in + out), tiles), in, out);
  const int64_t pieces = (tiles + s.rows - 1) / s.rows, threads = std::min(threads_, tiles);
  // Whole pieces for every thread where there are enough of them.
  const auto begin_of = [&](int64_t thread) {
    return pieces >= 2 * threads ? std::min(tiles, pieces * thread / threads * s.rows)
                                 : tiles * thread / threads;
  };
  parallel_for(threads, 1, [&](int64_t first_thread, int64_t last_thread) {
    float* const memory = scratch + first_thread * (s.v + s.m);
    const Panels v{memory, s.v_point, s.rows * block}, m{memory + s.v, s.m_point, s.rows * block};
    const int64_t end = begin_of(last_thread);
    for (int64_t at = begin_of(first_thread); at < end; at += s.rows) {
      const TileRange range{at, std::min(s.rows, end - at)};
      for (const Part& part : parts) {
        Panels group = v;
        for (const TileMap& input : part.inputs) {
          kernel.input(points, input, src, range, group);
          group.data += input.map.channels / block * v.panel_stride;
        }
        kernel.multiply(0, points * points, {range.count, in, out / block, block}, v, part.weights, m);
        kernel.output(points, part.output, m, range, epilogue, dst);
      }
    }
  });
}

void WinogradConvolution::forward(const float* src, WinogradWeights& weights, const Epilogue& epilogue,
                                  float* dst, float* scratch) const {
  const Part part{inputs(), results(), weights.forward()};
  run({&part, 1}, src, shape_.in * shape_.phases(), shape_.out, epilogue, dst, scratch);
}

void WinogradConvolution::backward(const float* diff_dst, WinogradWeights& weights, const Epilogue& epilogue,
                                   float* diff_src, float* scratch) const {
  const MapShape from{shape_.out, shape_.out_size(), shape_.block}, to{shape_.in, shape_.size, shape_.block};
  const int64_t tiles = shape_.tiles_a_side();
  std::vector<Part> parts;
  if (!shape_.pooled)
    parts.push_back({{{from, tiles, 1, -1, -1}}, {to, tiles, 1, 0, 0}, weights.backward(0)});
  // The pixels of one parity of rows and columns see the same 2x2 taps.
  for (int phase = 0; shape_.pooled && phase < 4; ++phase)
    parts.push_back({{{from, tiles, 1, phase / 2 - 1, phase % 2 - 1}},
                     {to, tiles, 2, phase / 2, phase % 2},
                     weights.backward(phase)});
  run(parts, diff_dst, shape_.out, shape_.in, epilogue, diff_src, scratch);
}

// Weight gradients: either each thread adds up its own tiles, or, where that would take too much memory, all
// threads transform a piece together and then share the points among them.
bool WinogradConvolution::gradient_by_points() const {
  return shape_.points() * shape_.points() * shape_.in * shape_.phases() * shape_.out > kLargeGradient;
}

int64_t WinogradConvolution::gradient_parts() const {
  return gradient_by_points() ? 1 : std::min(threads_, shape_.tiles());
}

namespace {
constexpr int64_t kRowsByPoints = 128;
}

int64_t WinogradConvolution::gradient_scratch_count() const {
  const int64_t points = shape_.points() * shape_.points(), in = shape_.in * shape_.phases();
  const int64_t rows = gradient_by_points() ? std::min(kRowsByPoints, shape_.tiles())
                                            : rows_at_once(points * (in + shape_.out), shape_.tiles());
  const Sizes s = sizes(rows, in, shape_.out);
  return (s.v + s.m + points * (in * shape_.out + kPointGap)) * gradient_parts();
}

void WinogradConvolution::transform_for_gradient(const float* src, const float* diff_dst, TileRange range,
                                                 Panels v, Panels w) const {
  Panels group = v;
  for (const TileMap& input : inputs()) {
    kernels().winograd->input(shape_.points(), input, src, range, group);
    group.data += shape_.in / shape_.block * v.panel_stride;
  }
  kernels().winograd->gradient(shape_.points(), results(), diff_dst, range, w);
}

void WinogradConvolution::gradient(const float* src, const float* diff_dst, const WinogradWeights& weights,
                                   float* plain, float* scratch) const {
  const WinogradKernels& kernel = *kernels().winograd;
  const int64_t points = shape_.points() * shape_.points(), in = shape_.in * shape_.phases(),
                out = shape_.out;
  const int64_t tiles = shape_.tiles(), block = shape_.block, parts = gradient_parts();
  const bool by_points = gradient_by_points();
  const Sizes s =
      sizes(by_points ? std::min(kRowsByPoints, tiles) : rows_at_once(points * (in + out), tiles), in, out);
  const int64_t u_point = in * out + kPointGap, u_count = points * u_point, part_count = s.v + s.m + u_count;
  const auto panels = [&](int64_t part) {
    struct {
      Panels v, w, u;
    } p;
    float* const memory = scratch + part * part_count;
    p.v = {memory, s.v_point, s.rows * block};
    p.w = {memory + s.v, s.m_point, s.rows * block};
    p.u = {memory + s.v + s.m, u_point, in * block};
    return p;
  };
  const auto product = [&](int64_t rows) { return ProductShape{in, rows, out / block, block}; };

  if (by_points) {
    const auto p = panels(0);
    for (int64_t at = 0; at < tiles; at += s.rows) {
      const int64_t count = std::min(s.rows, tiles - at);
      parallel_for(count, 1, [&](int64_t first, int64_t last) {
        const auto from = [&](Panels x) {
          return Panels{x.data + first * block, x.point_stride, x.panel_stride};
        };
        transform_for_gradient(src, diff_dst, {at + first, last - first}, from(p.v), from(p.w));
      });
      parallel_for(points, 1, [&](int64_t first, int64_t last) {
        if (at == 0) std::fill_n(p.u.data + first * u_point, (last - first) * u_point, 0.0f);
        kernel.multiply_tiles(first, last, product(count), p.v, p.w, p.u);
      });
    }
  } else {
    parallel_for(parts, 1, [&](int64_t first_part, int64_t last_part) {
      const auto p = panels(first_part);
      std::fill_n(p.u.data, u_count, 0.0f);
      const int64_t end = tiles * last_part / parts;
      for (int64_t at = tiles * first_part / parts; at < end; at += s.rows) {
        const TileRange range{at, std::min(s.rows, end - at)};
        transform_for_gradient(src, diff_dst, range, p.v, p.w);
        kernel.multiply_tiles(0, points, product(range.count), p.v, p.w, p.u);
      }
    });
  }
  parallel_for(out / block, 1, [&](int64_t first, int64_t last) {
    for (int64_t part = 0; part < parts; ++part)
      kernel.add_weights_gradient(weights.plain_shape(), panels(part).u, first, last, plain);
  });
}

}  // namespace mdsm::native

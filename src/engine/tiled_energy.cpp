#include "engine/tiled_energy.h"

#include <algorithm>

#include "core/error.h"
#include "core/round_up.h"
#include "network/graph.h"

namespace mdsm::engine {
namespace {

constexpr float kBeyond = 0.5f;  // y = 0, as engines fill images up

// The part of x that a tile sees.
void cut(ConstTensorView x, const TileSpan& row, const TileSpan& column, TensorView part) {
  const Shape &from = x.shape, &to = part.shape;
  const int64_t height = std::min(to.h, from.h - row.start), width = std::min(to.w, from.w - column.start);
  std::ranges::fill(part.values(), kBeyond);
  for (int64_t plane = 0; plane < to.n * to.c; ++plane)
    for (int64_t y = 0; y < height; ++y)
      std::copy_n(x.data + (plane * from.h + row.start + y) * from.w + column.start, width,
                  part.data + (plane * to.h + y) * to.w);
}

void add_back(ConstTensorView part, const TileSpan& row, const TileSpan& column, TensorView x) {
  const Shape &from = part.shape, &to = x.shape;
  const int64_t height = std::min(from.h, to.h - row.start), width = std::min(from.w, to.w - column.start);
  for (int64_t plane = 0; plane < from.n * from.c; ++plane)
    for (int64_t y = 0; y < height; ++y) {
      const float* source = part.data + (plane * from.h + y) * from.w;
      float* target = x.data + (plane * to.h + row.start + y) * to.w + column.start;
      for (int64_t k = 0; k < width; ++k) target[k] += source[k];
    }
}

}  // namespace

std::vector<TileSpan> tile_spans(int64_t size, int64_t tile, int64_t halo, int64_t step) {
  if (tile >= size) return {{0, 0, size}};
  if (tile % step != 0 || halo % step != 0 || tile <= 2 * halo)
    fail("this is a bug in the caller", "tiles of {} pixels with a halo of {} and steps of {}", tile, halo,
         step);
  const int64_t end = round_up(size, step);
  std::vector<TileSpan> spans;
  for (int64_t start = 0, own = 0; own < size; start += tile - 2 * halo) {
    start = std::min(start, end - tile);
    const int64_t next = start + tile == end ? size : start + tile - halo;
    spans.push_back({start, own, next - own});
    own = next;
  }
  return spans;
}

TileGeometry tile_geometry(const network::Spec& spec) {
  const network::Graph graph = network::make_graph(spec);
  const int64_t step = int64_t{1} << graph.halvings();
  return {round_up(network::receptive_radius(graph), step), step};
}

TiledEnergy::TiledEnergy(std::unique_ptr<TrainableEnergy> tile, const Shape& image, int64_t at_once,
                         OnTile on_tile)
    : EnergyModel(image, tile->sigma0()),
      tile_(std::move(tile)),
      at_once_(at_once),
      on_tile_(std::move(on_tile)) {
  const auto [halo, step] = tile_geometry(tile_->spec());
  rows_ = tile_spans(image.h, tile_->image_shape().h, halo, step);
  columns_ = tile_spans(image.w, tile_->image_shape().w, halo, step);
}

void TiledEnergy::add_tile(const TileSpan& row, const TileSpan& column, ConstTensorView x,
                           std::span<double> energy, TensorView grad_x) {
  const Shape shape = tile_->images(x.shape.n);
  if (part_.shape() != shape) part_ = Tensor(shape);
  if (grad_x.data && part_gradient_.shape() != shape) part_gradient_ = Tensor(shape);
  cut(x, row, column, part_);
  tile_->set_window({row.own - row.start, column.own - column.start, row.owned, column.owned});
  std::vector<float> terms(energy.size());
  if (grad_x.data) {
    tile_->energy_and_gradient(part_, terms, part_gradient_);
    add_back(part_gradient_, row, column, grad_x);
  } else {
    tile_->energy(part_, terms);
  }
  for (size_t i = 0; i < terms.size(); ++i) energy[i] += static_cast<double>(terms[i]);
}

void TiledEnergy::run(ConstTensorView x, std::span<float> energy, TensorView grad_x) {
  const int64_t n = x.shape.n, tiles = static_cast<int64_t>(rows_.size() * columns_.size());
  const int64_t total = (n + at_once_ - 1) / at_once_ * tiles;
  int64_t done = 0;
  if (grad_x.data) std::ranges::fill(grad_x.values(), 0.0f);
  for (int64_t first = 0; first < n; first += at_once_) {
    const int64_t count = std::min(at_once_, n - first);
    std::vector<double> sums(static_cast<size_t>(count));
    for (const TileSpan& row : rows_)
      for (const TileSpan& column : columns_) {
        add_tile(row, column, x.images(first, count), sums,
                 grad_x.data ? grad_x.images(first, count) : TensorView{});
        if (on_tile_) on_tile_(++done, total);
      }
    std::ranges::transform(sums, energy.begin() + first, [](double sum) { return static_cast<float>(sum); });
  }
}

void TiledEnergy::energy_impl(ConstTensorView x, std::span<float> energy) { run(x, energy, {}); }

void TiledEnergy::energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) {
  run(x, energy, grad_x);
}

}  // namespace mdsm::engine

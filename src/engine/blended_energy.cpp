#include "engine/blended_energy.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace mdsm::engine {
namespace {

// How many of a tile's pixels the image has from here on, and which is the first.
struct Inside {
  int64_t first = 0, count = 0;
};
Inside inside(const BlendedSpan& span, int64_t size) {
  const auto tile = static_cast<int64_t>(span.weights.size());
  const int64_t first = std::max<int64_t>(0, -span.start);
  return {first, std::min(tile, size - span.start) - first};
}

// Calls body(offset in the tile, offset in the image, row and column of the tile) for the pixels that both
// have.
template <class Body>
void for_pixels(const BlendedSpan& row, const BlendedSpan& column, const Shape& image, int64_t tile,
                const Body& body) {
  const Inside rows = inside(row, image.h), columns = inside(column, image.w);
  for (int64_t c = 0; c < image.c; ++c)
    for (int64_t y = rows.first; y < rows.first + rows.count; ++y)
      for (int64_t x = columns.first; x < columns.first + columns.count; ++x)
        body((c * tile + y) * tile + x, (c * image.h + row.start + y) * image.w + column.start + x,
             static_cast<size_t>(y), static_cast<size_t>(x));
}

double share(const BlendedSpan& span) {
  const double sum = std::accumulate(span.weights.begin(), span.weights.end(), 0.0);
  return sum / static_cast<double>(span.weights.size());
}

}  // namespace

std::vector<BlendedSpan> blended_spans(int64_t size, int64_t tile) {
  const auto length = static_cast<size_t>(tile);
  if (size <= tile) return {{-(tile - size) / 2, std::vector<float>(length, 1.0f)}};
  const int64_t step = std::max<int64_t>(1, tile / 2), gaps = (size - tile + step - 1) / step;
  std::vector<BlendedSpan> spans;
  std::vector<double> sums(static_cast<size_t>(size));
  // Squared, as networks are at their worst at the edges of their images.
  const auto ramp = [&](size_t i) { return std::pow(static_cast<double>(std::min(i + 1, length - i)), 2); };
  for (int64_t k = 0; k <= gaps; ++k) {
    spans.push_back({k * (size - tile) / gaps, {}});
    for (size_t i = 0; i < length; ++i) sums[static_cast<size_t>(spans.back().start) + i] += ramp(i);
  }
  for (BlendedSpan& span : spans)
    for (size_t i = 0; i < length; ++i)
      span.weights.push_back(static_cast<float>(ramp(i) / sums[static_cast<size_t>(span.start) + i]));
  return spans;
}

BlendedEnergy::BlendedEnergy(std::unique_ptr<EnergyModel> network, const Shape& image, int64_t at_once,
                             OnTile on_tile)
    : EnergyModel(image, network->sigma0()),
      network_(std::move(network)),
      at_once_(at_once),
      on_tile_(std::move(on_tile)),
      rows_(blended_spans(image.h, network_->image_shape().h)),
      columns_(blended_spans(image.w, network_->image_shape().w)) {}

void BlendedEnergy::add(ConstTensorView x, std::span<const Tile> tiles, std::span<double> energy,
                        TensorView grad_x) {
  const Shape shape = network_->images(static_cast<int64_t>(tiles.size()));
  Tensor parts(shape), gradients(shape);  // what lies beyond the image is 0, as padding
  for (size_t k = 0; k < tiles.size(); ++k) {
    const auto from = x.image(tiles[k].image);
    const auto to = parts.view().image(static_cast<int64_t>(k));
    for_pixels(*tiles[k].row, *tiles[k].column, image_shape(), shape.h,
               [&](int64_t in_tile, int64_t in_image, size_t, size_t) {
                 to[static_cast<size_t>(in_tile)] = from[static_cast<size_t>(in_image)];
               });
  }
  std::vector<float> energies(tiles.size());
  network_->energy_and_gradient(parts, energies, gradients);
  for (size_t k = 0; k < tiles.size(); ++k) {
    const auto& [image, row, column] = tiles[k];
    energy[static_cast<size_t>(image)] += static_cast<double>(energies[k]) * share(*row) * share(*column);
    const auto from = gradients.view().image(static_cast<int64_t>(k));
    const auto to = grad_x.image(image);
    for_pixels(*row, *column, image_shape(), shape.h,
               [&, row = row, column = column](int64_t in_tile, int64_t in_image, size_t y, size_t x_) {
                 to[static_cast<size_t>(in_image)] +=
                     row->weights[y] * column->weights[x_] * from[static_cast<size_t>(in_tile)];
               });
  }
}

void BlendedEnergy::energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) {
  std::vector<Tile> tiles;
  for (int64_t i = 0; i < x.shape.n; ++i)
    for (const BlendedSpan& row : rows_)
      for (const BlendedSpan& column : columns_) tiles.push_back({i, &row, &column});
  std::vector<double> sums(energy.size());
  std::ranges::fill(grad_x.values(), 0.0f);
  const auto most = static_cast<size_t>(at_once_), all = tiles.size();
  for (size_t first = 0; first < all; first += most) {
    add(x, std::span(tiles).subspan(first, std::min(most, all - first)), sums, grad_x);
    if (on_tile_)
      on_tile_(static_cast<int64_t>(first / most) + 1, static_cast<int64_t>((all + most - 1) / most));
  }
  std::ranges::transform(sums, energy.begin(), [](double sum) { return static_cast<float>(sum); });
}

}  // namespace mdsm::engine

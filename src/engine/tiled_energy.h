// An energy of large images in the memory of one tile. Energies of image heads are sums over pixels, and the
// term of a pixel sees the image no farther than a radius: every tile gives the terms of pixels of its own,
// exactly, from an overlap of that radius (the halo), and their gradient by all of its pixels; both are added
// up. The result is that of the whole image but for rounding, energy and gradient alike, so that samplers and
// restorations need not know of tiles.
#pragma once

#include <functional>
#include <memory>
#include <vector>

#include "engine/trainable_energy.h"

namespace mdsm::engine {

// A tile along one axis: its first pixel, and the pixels of its own, which start at `own` of the image.
struct TileSpan {
  int64_t start = 0, own = 0, owned = 0;
};
// How tiles share `size` pixels. step: what starts must be multiples of. tile: a multiple of step above
// 2 halo, or size itself. The last tile ends where the image does, filled up to a multiple of step.
std::vector<TileSpan> tile_spans(int64_t size, int64_t tile, int64_t halo, int64_t step);

// What of a network tiles depend on, in pixels.
struct TileGeometry {
  int64_t halo = 0, step = 1;  // halo: a multiple of step
  int64_t least() const { return 2 * halo + step; }
};
TileGeometry tile_geometry(const network::Spec& spec);

// Called after every tile: so many of the call's are done.
using OnTile = std::function<void(int64_t done, int64_t total)>;

class TiledEnergy : public EnergyModel {
 public:
  // tile: an engine for images of a tile's size. image: shape of the images. at_once: images a call of the
  // engine.
  TiledEnergy(std::unique_ptr<TrainableEnergy> tile, const Shape& image, int64_t at_once,
              OnTile on_tile = {});
  bool has_energy() const override { return tile_->has_energy(); }

 private:
  void energy_impl(ConstTensorView x, std::span<float> energy) override;
  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override;
  // Of images that go through the engine together; grad_x may hold nothing.
  void add_tile(const TileSpan& row, const TileSpan& column, ConstTensorView x, std::span<double> energy,
                TensorView grad_x);
  void run(ConstTensorView x, std::span<float> energy, TensorView grad_x);

  std::unique_ptr<TrainableEnergy> tile_;
  int64_t at_once_;
  OnTile on_tile_;
  std::vector<TileSpan> rows_, columns_;
  Tensor part_, part_gradient_;
};

}  // namespace mdsm::engine

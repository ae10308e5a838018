// Images of any size for a network of one size: overlapping tiles of the network's own size whose answers are
// blended. Every pixel's gradient is a mean of those of the tiles that see it, with weights that fall to the
// tiles' edges, so that one jump blends the denoised tiles without seams. The energy is the mean of the
// tiles' energies, each for its share of the pixels: of the right size, but the gradient is not exactly its
// own. Denoising and the fast samplers need no more; a Metropolis test would.
#pragma once

#include <memory>
#include <vector>

#include "engine/tiled_energy.h"

namespace mdsm::engine {

// A tile along one axis: its first pixel, below 0 where the image is smaller and stands in its middle, and
// how much its answer counts at each of its pixels; over all tiles that is 1 for every pixel of the image.
struct BlendedSpan {
  int64_t start = 0;
  std::vector<float> weights;
};
// Neighbours share half of a tile or more.
std::vector<BlendedSpan> blended_spans(int64_t size, int64_t tile);

class BlendedEnergy : public EnergyModel {
 public:
  // network: an engine of square images. at_once: tiles a call of it.
  BlendedEnergy(std::unique_ptr<EnergyModel> network, const Shape& image, int64_t at_once,
                OnTile on_tile = {});
  bool has_energy() const override { return network_->has_energy(); }

 private:
  struct Tile {
    int64_t image = 0;
    const BlendedSpan *row = nullptr, *column = nullptr;
  };
  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override;
  void add(ConstTensorView x, std::span<const Tile> tiles, std::span<double> energy, TensorView grad_x);

  std::unique_ptr<EnergyModel> network_;
  int64_t at_once_;
  OnTile on_tile_;
  std::vector<BlendedSpan> rows_, columns_;
};

}  // namespace mdsm::engine

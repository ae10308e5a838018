#include "engine/registry/sized_energy.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/memory.h"
#include "core/round_up.h"

namespace mdsm::engine {
namespace {

// Working memory of a gradient. An engine that does not know is taken for the native one.
size_t need(const EngineOptions& options, const network::Parameters& parameters, int64_t height,
            int64_t width, int64_t n) {
  const network::Spec spec = parameters.at_size(height, width).spec();
  const auto memory = memory_need(options, spec, n);
  return memory ? memory->gradient : memory_need({}, spec, n)->gradient;
}

size_t allowed() {
  const size_t available = available_memory();
  return available == 0 ? kTileMemory : std::min(kTileMemory, available / 4);
}

// The side of the largest square tile that the memory allows; memory grows with the area.
int64_t side_from_memory(const EngineOptions& options, const network::Parameters& parameters,
                         const TileGeometry& geometry) {
  const int64_t least = geometry.least() + geometry.halo;
  const auto bytes = static_cast<double>(need(options, parameters, least, least, 1));
  const double side = static_cast<double>(least) * std::sqrt(static_cast<double>(allowed()) / bytes);
  return std::max(least, static_cast<int64_t>(side) / geometry.step * geometry.step);
}

int64_t side_as_asked(int64_t tile, const TileGeometry& geometry) {
  if (tile < geometry.least())
    fail_usage(fmt::format("use {} or more, or leave it out", geometry.least()),
               "--tile {}: a pixel of this network sees {} pixels around it", tile, geometry.halo);
  return round_up(tile, geometry.step);
}

// The smallest tile that needs no more of them than `side` does.
int64_t balanced(int64_t size, int64_t side, const TileGeometry& geometry) {
  if (side >= size) return size;
  const int64_t end = round_up(size, geometry.step), shared = 2 * geometry.halo;
  const int64_t tiles = (end - shared + side - shared - 1) / (side - shared);
  return std::min(end, round_up((end - shared + tiles - 1) / tiles, geometry.step) + shared);
}

}  // namespace

std::unique_ptr<EnergyModel> make_sized_energy(const EngineOptions& options,
                                               const network::Parameters& parameters, const SizeOptions& size,
                                               OnTile on_tile) {
  const Shape& image = size.image;
  const TileGeometry geometry = tile_geometry(parameters.spec());
  const int64_t longest = std::max(image.h, image.w);
  if (size.tile == 0 || size.tile >= longest) {
    const auto whole = [&](int64_t n) { return need(options, parameters, image.h, image.w, n); };
    if (whole(size.batch) <= allowed()) return make_engine(options, parameters.at_size(image.h, image.w));
    const size_t one = whole(1);
    if (one <= allowed() || size.tile >= longest)
      return std::make_unique<TiledEnergy>(
          make_engine(options, parameters.at_size(image.h, image.w)), image,
          std::clamp<int64_t>(static_cast<int64_t>(allowed() / one), 1, size.batch), std::move(on_tile));
  }
  const int64_t side =
      size.tile > 0 ? side_as_asked(size.tile, geometry) : side_from_memory(options, parameters, geometry);
  const int64_t height = balanced(image.h, side, geometry), width = balanced(image.w, side, geometry);
  return std::make_unique<TiledEnergy>(make_engine(options, parameters.at_size(height, width)), image, 1,
                                       std::move(on_tile));
}

}  // namespace mdsm::engine

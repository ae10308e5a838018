// An engine for images of a given size, in bounded memory: the whole batch at once where that fits, else
// fewer images at a time, else tiles (tiled_energy.h).
#pragma once

#include "engine/registry/registry.h"
#include "engine/tiled_energy.h"

namespace mdsm::engine {

struct SizeOptions {
  Shape image;        // of one image
  int64_t batch = 1;  // images a call
  int64_t tile = 0;   // side of the tiles; 0 = from the memory; images that are no larger stay whole
};

// Working memory that tiles are made for, where there is that much.
constexpr size_t kTileMemory = size_t{400} << 20;

// parameters: of a network that takes any size.
std::unique_ptr<EnergyModel> make_sized_energy(const EngineOptions& options,
                                               const network::Parameters& parameters, const SizeOptions& size,
                                               OnTile on_tile = {});

}  // namespace mdsm::engine

// Energies (and their gradients) of all images of a data set, with Gaussian noise on top when asked for.
#pragma once

#include <functional>
#include <vector>

#include "data/dataset.h"
#include "distributed/communicator.h"
#include "engine/energy_model.h"

namespace mdsm::eval {

struct EnergyOptions {
  double noise = 0;       // standard deviation of the noise added to every image
  uint64_t seed = 0;      // of that noise; image i always gets the same, whatever the batch
  int64_t batch = 128;    // images computed at a time
  bool gradient = false;  // also grad_x
  int64_t first = 0;      // number of the first image, in messages and for its noise
};

struct Energies {
  std::vector<float> energy;  // (N)
  std::vector<float> grad_x;  // (N,C,H,W) at the noisy images, +dE/dx; empty unless asked for
};

// Throws when there are no images, or images of another shape than the network's.
void check_fits(const Shape& wanted, const data::Dataset& data);

// `done` is told the number of images finished after every batch; it may be empty.
Energies compute_energies(engine::EnergyModel& engine, const data::Dataset& data,
                          const EnergyOptions& options, const std::function<void(int64_t)>& done = {});

// The energies alone, by several processes: those of some images each, all of them on rank 0; the bits are
// those of one process. Nothing on other ranks.
std::vector<float> shared_energies(distributed::Communicator& world, engine::EnergyModel& engine,
                                   const data::Dataset& data, const EnergyOptions& options,
                                   const std::function<void(int64_t)>& done = {});

struct Summary {
  int64_t n = 0;
  double mean = 0, std = 0, min = 0, max = 0;  // std: of the sample, n - 1
};
Summary summarise(std::span<const float> values);

}  // namespace mdsm::eval

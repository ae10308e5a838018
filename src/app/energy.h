// The job of `mdsm energy`: energies of images, and the gradients by them, summed up and written to files.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "app/model_use.h"
#include "data/dataset.h"
#include "eval/energies.h"

namespace mdsm::app {

struct EnergyOptions {
  ModelUse use;
  data::DataOptions data;
  double noise = eval::EnergyOptions().noise;  // standard deviation, put on the images
  int64_t seed = 0;                            // of the noise, and of random data
  std::string out, gradient;  // .npy files for energies (N) and grad_x (N,C,H,W); empty: not written
};

struct EnergyResult {
  eval::Summary energies;
  double noise = 0;
  int64_t seed = 0;
  std::string model, data;  // as given; what the images are
};

EnergyResult run_energy(const EnergyOptions& options);
nlohmann::json to_json(const EnergyResult& result);
void print(const EnergyResult& result);

}  // namespace mdsm::app

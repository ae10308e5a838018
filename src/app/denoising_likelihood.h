// The job of `mdsm likelihood --method denoising`: a bound on the likelihood of images from how well the
// model denoises them.
#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>

#include "app/model_use.h"
#include "data/dataset.h"
#include "distributed/communicator.h"
#include "eval/denoising_bound.h"

namespace mdsm::app {

struct DenoisingLikelihoodOptions {
  ModelUse use;
  data::DataOptions data;
  eval::BoundOptions bound;  // low 0: sigma0, or with clean the lowest trained; high 0: the highest trained
  bool clean = false;        // bits of the images themselves, which have 8 bits
  int64_t seed = 0;
  std::string out = "likelihood";  // folder for likelihood.json and likelihood.svg
  bool force = false;
  nlohmann::json recorded;                                   // the options as given
  distributed::Communicator* world = &distributed::alone();  // share the images; rank 0 has the result

  DenoisingLikelihoodOptions() { bound.low = bound.high = 0; }
};

struct DenoisingLikelihoodResult {
  DenoisingLikelihoodOptions options;  // completed
  nlohmann::json parameters;
  eval::DenoisingBound bound;
  std::string images, fitted;  // what they are
  int64_t fitted_images = 0;
};

// Empty on ranks other than 0.
DenoisingLikelihoodResult run_denoising_likelihood(const DenoisingLikelihoodOptions& options,
                                                   const std::atomic<bool>& stop);
nlohmann::json to_json(const DenoisingLikelihoodResult& result);
nlohmann::json file_json(const DenoisingLikelihoodResult& result);  // likelihood.json
void print(const DenoisingLikelihoodResult& result);

}  // namespace mdsm::app

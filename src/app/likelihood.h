// The job of `mdsm likelihood`: log Z from both sides by annealed importance sampling, and the likelihood of
// images. A run that was stopped goes on from its checkpoint in the folder of the results.
#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/model_use.h"
#include "data/dataset.h"
#include "distributed/communicator.h"
#include "eval/betas.h"
#include "eval/likelihood.h"
#include "eval/noisy_dataset.h"

namespace mdsm::app {

enum class LikelihoodMethod { ais, denoising };
constexpr auto enum_names(LikelihoodMethod) {
  return names_of<LikelihoodMethod>(
      {{LikelihoodMethod::ais, "ais"}, {LikelihoodMethod::denoising, "denoising"}});
}

struct LikelihoodOptions {
  ModelUse use;
  data::DataOptions data;  // the images; without a source only log Z is found
  eval::ImageNoise noise;  // put on the images; its seed is that of this job
  eval::BetaSchedule schedule;
  eval::AisPlan plan;         // betas, batch and seed are those of this job
  std::string samples;        // start reverse chains at these samples of the model instead of the images
  double samples_noise = -1;  // put on the samples; -1 = sigma0
  eval::ReferenceMean reference = eval::ReferenceMean::constant;
  double reference_mean = 0.5;                               // the constant
  double reference_std = 0;                                  // 0 fits it to the images
  int64_t seed = 0;                                          // of everything random
  std::string out = "likelihood";                            // folder for likelihood.json and likelihood.svg
  double save_every = 60;                                    // seconds between checkpoints
  bool resume = false;                                       // go on with the unfinished run in the folder
  bool force = false;                                        // replace what is in the folder
  nlohmann::json recorded;                                   // the options as given, kept in the results
  distributed::Communicator* world = &distributed::alone();  // share chains and images; rank 0 has the result
};

struct LikelihoodResult {
  LikelihoodOptions options;
  nlohmann::json parameters;  // all that the result depends on
  eval::Likelihood likelihood;
  double reference_std = 0;
  std::optional<std::string> images;   // what they are
  std::string reverse_start;           // what the reverse chains begin at, images or samples
  std::vector<double> leapfrog_steps;  // (K)
  std::vector<double> forward_weights, reverse_weights;  // logarithms, one for each chain

  bool from_samples() const { return !options.samples.empty(); }
};

// Empty on ranks other than 0.
LikelihoodResult run_likelihood(const LikelihoodOptions& options, const std::atomic<bool>& stop);
nlohmann::json to_json(const LikelihoodResult& result);
nlohmann::json file_json(const LikelihoodResult& result);  // likelihood.json
void print(const LikelihoodResult& result);

}  // namespace mdsm::app

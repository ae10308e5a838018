// Everything that defines a training run, declared once for the command line, configuration files and the
// options.json of the run folder; the presets of the paper's data sets; and what a resumed run may change.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

#include "core/options.h"
#include "data/dataset.h"
#include "network/spec.h"
#include "train/noise.h"
#include "train/schedule.h"

namespace mdsm::train {

// Maximum likelihood: samples of the model by Langevin dynamics, and how they start.
struct LikelihoodOptions {
  int64_t steps = 30;
  double eps = 0.05;  // half of sigma0: larger steps cannot rest in a Gaussian as narrow as the kernel
  std::string chains = "persistent";  // persistent, noise
  int64_t buffer = 1024;              // persistent chains kept
  double restart = 0.05;              // share of an update's chains that start from noise again
  double energy_l2 = 0;
};

struct TrainOptions {
  std::string preset = "none";
  std::string network = "res12", head = "quadratic";
  int64_t width = 64;
  double sigma0 = 0.1;
  double bowl = 0;

  std::string objective = "mdsm";   // mdsm, single, ml
  std::string importance = "none";  // none, batch
  LikelihoodOptions ml;
  NoiseOptions noise;
  RateOptions schedule;  // holds --steps, the length of the run
  int64_t batch = 128;
  int64_t micro_batch = 0;  // images in memory at a time; 0 = the whole batch
  double clip = 0;          // largest gradient norm; 0 = no clipping
  double ema = 0.999, beta1 = 0.9, beta2 = 0.95;
  int64_t seed = 0;

  int64_t stats_every = 50, save_every = 250, preview_every = 250, snapshot_every = 0;  // steps; 0 = never

  bool keeps_chains() const { return objective == "ml" && ml.chains == "persistent"; }
  int64_t micro() const { return micro_batch > 0 && micro_batch < batch ? micro_batch : batch; }
};

void declare_train_options(OptionSet& set, TrainOptions& options);
void validate(const TrainOptions& options);  // combinations; throws usage errors

// Sets what the user has not given: everything of --preset, or, without one, only the noise of a data set
// that has a preset of its own name; then what --objective implies. What it cannot go with is refused.
void apply_preset(OptionSet& set, const TrainOptions& options, const std::string& data);

// The network for these images. Says how to fit them when no network takes them.
network::Spec make_spec(const TrainOptions& options, const Shape& image);

// Merges the recorded options of a run into `set`. What the user gave beside them must be equal to what is
// recorded, or one of the few options that a resumed run may change. `defaults` are the options as declared:
// what a run of an older program has not recorded, it had by default.
void apply_recorded(OptionSet& set, const nlohmann::json& recorded, const nlohmann::json& defaults,
                    const std::string& where);

// A fingerprint of the options that a resume may not change. Options that came after the first version take
// part only where they differ from their default, so that runs from before them keep theirs.
std::string options_hash(const nlohmann::json& resolved, const nlohmann::json& defaults);

}  // namespace mdsm::train

// What defines a training run whatever its objective, declared once for the command line, configuration files
// and the options.json of the run folder. What belongs to one objective is its own (objective.h).
#pragma once

#include <algorithm>
#include <cstdint>
#include <string>

#include "core/options.h"
#include "core/tensor.h"
#include "data/augment.h"
#include "engine/trainable_energy.h"
#include "network/spec.h"
#include "train/presets.h"
#include "train/schedule.h"

namespace mdsm::train {

class ObjectiveChoice;

struct TrainOptions {
  Preset preset = Preset::none;
  network::Network network = network::Network::res12;
  network::Head head = network::Head::quadratic;
  int64_t width = 64;
  int64_t levels = network::Spec().levels, blocks = network::Spec().blocks;  // unet
  network::Activation activation = network::Spec().activation;
  double sigma0 = 0.1;
  double bowl = 0;

  RateOptions schedule;  // holds --steps, the length of the run
  int64_t batch = 128;
  int64_t shards = 1;          // of a batch, whose gradients are added in a fixed tree (shards.h)
  bool allow_reorder = false;  // several processes: add gradients in any order
  bool overlap = true;         // and send what is finished of them while the rest is computed
  int64_t micro_batch = 0;     // images in memory at a time; 0 = a whole shard
  double clip = 0;             // largest gradient norm; 0 = no clipping
  engine::Optimiser optimiser = engine::Optimiser::adam;
  double ema = 0.999, beta1 = 0.9, beta2 = 0.95, weight_decay = 0;
  int64_t seed = 0;
  data::AugmentOptions augment;  // but for flip, which is one of the data options

  std::string sampling;  // for mdsm sample, noted in the model file (sample/model_defaults.h)
  int64_t stats_every = 50, save_every = 250, preview_every = 250, snapshot_every = 0;  // steps; 0 = never

  int64_t micro() const {
    const int64_t largest = (batch + shards - 1) / shards;
    return micro_batch > 0 ? std::min(micro_batch, largest) : largest;
  }
};

// With --objective and the options of all objectives in their place.
void declare_train_options(OptionSet& set, TrainOptions& options, ObjectiveChoice& objectives);
// Of a new run, when its batch is known; a resumed one has what it recorded, or 1.
void set_default_shards(OptionSet& set, const TrainOptions& options);
void validate(const TrainOptions& options);  // combinations; throws usage errors

// The network for these images. Says how to fit them when no network takes them.
network::Spec make_spec(const TrainOptions& options, const Shape& image);

}  // namespace mdsm::train

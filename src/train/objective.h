// What a training step minimises: from the clean images of a batch to the engine's gradient. An objective is
// one object per run that owns everything particular to it: its options, its memory, its state, its
// statistics and how they are shown. It knows nothing of Adam, rates and files; those are the trainer's and
// the session's. A new one is a class in a file of its own and a row in objectives.cpp, or in a program of
// one's own a call of objectives().add(); only gradient() must be there.
//
// Everything random in an objective is a function of (seed, step, place), so that a resumed run sees the
// same. The calls come in this order: declare, resolve, validate, load (only when resumed), begin, then
// gradient and applied once a step, and save whenever a checkpoint is due.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/options.h"
#include "distributed/communicator.h"
#include "engine/trainable_energy.h"
#include "train/loss_plot.h"
#include "train/noise.h"
#include "train/objective_state.h"
#include "train/observer.h"
#include "train/rank_sum.h"
#include "train/shards.h"
#include "train/train_options.h"

namespace mdsm::train {

// What a run gives its objective to work with. Each of several processes has some shards of the batch; the
// gradient that for_shards() leaves is that of all, and gather() makes known what was found for single
// images.
struct TrainingContext {
  engine::TrainableEnergy& engine;
  const TrainOptions& options;
  TrainObserver& observer;
  TreeSum* sum = nullptr;  // memory for the gradients of shards, kept from step to step
  distributed::Communicator& world = distributed::alone();
  RankSum* rank_sum = nullptr;  // where there are several processes

  ImageRange shards_of(int rank) const { return shards_of_process(options.shards, world.size(), rank); }
  ImageRange images_of(int rank) const;
  ImageRange own_images() const { return images_of(world.rank()); }
  // values: the same number for each image of the batch, filled in for those of this process.
  void gather(std::span<float> values) const;
};

class Objective {
 public:
  virtual ~Objective() = default;
  const std::string& name() const { return name_; }  // of its row

  // -- options --
  // Declares its own, bound to its own variables. Other objectives refuse them.
  virtual void declare(OptionSet&) {}
  // Which of them a resumed run may change.
  virtual std::vector<std::string> may_change() const { return {}; }
  // After parsing: sets what it implies for options that were not given, and refuses what cannot go together.
  virtual void resolve(OptionSet&) {}
  // The values themselves, together with those of the run. Throws usage errors.
  virtual void validate(const TrainOptions&) const {}
  // Bytes it needs beyond the engine and the batches in use.
  virtual size_t memory(const network::Spec&) const { return 0; }

  // -- training --
  // Whether gradient() looks at images of other processes' shards, too. One that knows nothing of shards
  // does: then every process computes the whole batch.
  virtual bool needs_whole_batch() const { return true; }
  // Before the first step: makes what was not loaded.
  virtual void begin(const TrainingContext&) {}
  // Adds the gradient of step number `step` (0 for the first) to the engine's, which was set to zero, and
  // fills in loss and statistics. A loss that is not finite says that there is no such gradient.
  // with_energy_of_data: the step's statistics will be written, so those that cost a pass are wanted.
  virtual void gradient(const TrainingContext& run, int64_t step, ConstTensorView clean,
                        bool with_energy_of_data, StepResult& result) = 0;
  // The step was made: what the objective itself keeps from step to step may change now.
  virtual void applied() {}
  // Adam's epsilon for gradients of this size.
  virtual double adam_epsilon(const TrainOptions&) const { return 1e-8; }

  // -- state --
  virtual void save(StateWriter&) const {}
  // Errors when the file does not have what save() writes. What is not read is refused as another run's.
  virtual void load(StateReader&, const network::Spec&) {}

  // -- showing --
  // A line of log.txt, after "step N: ".
  virtual std::string log_line(const StatsRecord& record) const;
  // The loss of an energy that is flat, where there is such a number: a run that stays there has failed.
  virtual std::optional<double> flat_loss(const network::Spec&) const { return std::nullopt; }
  virtual LossPanel loss_panel(const TrainOptions&) const { return {}; }
  // The noise of previews, given that of the data set's preset.
  virtual NoiseOptions preview_noise(const NoiseOptions& usual) const { return usual; }

  // -- what a model file says --
  // Added to "trained".
  virtual nlohmann::json trained() const { return nlohmann::json::object(); }
  // "sampling": the defaults of mdsm sample.
  virtual nlohmann::json sampling(const TrainOptions& options) const;

 private:
  friend std::unique_ptr<Objective> make_objective(std::string_view name);
  std::string name_;
};

// Calls body(first, count) for pieces of a shard that are in memory at a time, or of all shards of this
// process.
template <class Body>
void for_micro_batches(const TrainOptions& options, ImageRange shard, const Body& body) {
  for (int64_t first = shard.first; first < shard.end(); first += options.micro())
    body(first, std::min(options.micro(), shard.end() - first));
}
template <class Body>
void for_micro_batches(const TrainingContext& run, const Body& body) {
  const ImageRange own = run.shards_of(run.world.rank());
  for (int64_t k = own.first; k < own.end(); ++k)
    for_micro_batches(run.options, shard_of(run.options.batch, run.options.shards, k), body);
}

// Calls body(shard) for each of this process, which adds the gradient of the shard's images to the engine's;
// afterwards that holds the sum of all shards of all processes. An objective that computes a batch in one go
// is one shard, whatever the option says.
void for_shards(const TrainingContext& run, const std::function<void(ImageRange)>& body);

// "sampling" of densities that were learned at one temperature, T = 1, and by the paper's annealing: hot
// enough for noise of size 1, then exponentially to T = 1, then linearly to 0. Both end with one denoising
// jump. Temperatures and step size are for sigma0 = 0.1 and go with it.
nlohmann::json constant_sampling(double sigma0);
nlohmann::json annealed_sampling(double sigma0);

}  // namespace mdsm::train

// The job of mdsm train: a run in a new folder, or an old one resumed, from open data to the last checkpoint.
// What training is, is in src/train; this puts data, engine, previews and folder together, checks that they
// fit into memory, and tells log and terminal how it goes.
#pragma once

#include <atomic>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/options.h"
#include "data/dataset.h"
#include "distributed/communicator.h"
#include "engine/registry/registry.h"
#include "network/parameters.h"
#include "train/objectives.h"
#include "train/observer.h"
#include "train/train_options.h"

namespace mdsm::app {

struct TrainingOptions {
  data::DataOptions data;
  train::TrainOptions train;
  engine::EngineOptions engine;
  int64_t threads = 0;                               // 0 takes all
  std::string outdir = "runs", desc;                 // of a new run's folder
  std::string resume;                                // a run folder to go on with
  std::string init;                                  // the model that a run started from
  std::shared_ptr<const network::Parameters> start;  // its weights; none where they are not needed
  int64_t stop_after = 0;                            // steps of this call; 0 = to the end
  bool quiet = false;
  distributed::Communicator* world = &distributed::alone();
  std::string job;  // of a launcher that restarts processes; empty: none

  // Images of the caller's in place of data.source, and for previews; they outlive the call.
  const data::Dataset *own_data = nullptr, *own_test = nullptr;
  train::TrainObserver* observer = nullptr;  // in place of the progress on the terminal

  nlohmann::json recorded;   // all options, for options.json
  std::string options_hash;  // of those that must not change on resume
};

// The options of `mdsm train`, from declared to complete: a recipe for a new run, the recorded ones for a
// resumed run.
class TrainingSetup {
 public:
  void declare(OptionSet& options);
  void resolve(OptionSet& options);

  TrainingOptions job;
  bool dry_run = false;
  train::Objective& objective() { return objectives_.chosen(); }

 private:
  void find_run_of_job();
  nlohmann::json recorded() const;
  void take_recipe(OptionSet& options);
  void load_start();

  nlohmann::json defaults_;
  train::Recipe recipe_ = train::Recipe::quick;
  train::ObjectiveChoice objectives_;
};

// What would be trained.
struct TrainingPlan {
  nlohmann::json options;
  std::string data;
  network::Spec spec;
  int64_t parameters = 0;
  std::optional<size_t> memory;  // bytes, where the engine knows
};
TrainingPlan plan_training(const TrainingOptions& options, const train::Objective& objective);
nlohmann::json to_json(const TrainingPlan& plan);
void print(const TrainingPlan& plan);

struct TrainingResult {
  fs::path folder, model;
  int64_t first_step = 0, step = 0, steps = 0;  // done before, done now, of the whole run
  bool finished() const { return step >= steps; }
};
nlohmann::json to_json(const TrainingResult& result);
// `objective` has its options already. A set `stop` ends it after the step at work, with all saved.
TrainingResult run_training(const TrainingOptions& options, train::Objective& objective,
                            const std::atomic<bool>& stop);

}  // namespace mdsm::app

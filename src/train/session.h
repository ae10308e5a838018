// A training run in its folder: the loop over training steps with statistics, previews and checkpoints at
// their intervals, stopping when asked, and the same again from the last checkpoint. Of several processes,
// rank 0 has the folder and all files; the others take the same steps and have the state from it.
#pragma once

#include <atomic>
#include <string>

#include "train/checkpoint.h"
#include "train/preview.h"
#include "train/run_folder.h"
#include "train/trainer.h"

namespace mdsm::train {

struct SessionInput {
  RunFolder* folder;  // null on ranks other than 0
  engine::TrainableEnergy& engine;
  const data::Dataset& data;
  Preview& preview;
  const TrainOptions& options;
  Objective& objective;
  bool flip = false;
  std::string data_name;              // for the model files
  std::string options_hash;           // of the options that must not change on resume
  std::string init{};                 // the model that the weights started from, for the model files; or none
  std::string precision = "float32";  // of the engine, for the model files
  distributed::Communicator& world = distributed::alone();
  std::string data_hash{};  // fingerprint of the data, where it is known already
};

// Brings engine and objective to the state of the folder's checkpoint and statistics back to its step;
// without a checkpoint (killed before the first) it is the beginning. Throws when data or options are not the
// run's.
StateHead resume_state(const SessionInput& input);

// Trains from `start` to the end, or until `stop` is set or `stop_after` more steps are done (0 = no such
// limit), and saves. Returns the number of steps done. A loss or gradient that is not finite is an Error.
int64_t train(const SessionInput& input, const StateHead& start, int64_t stop_after,
              const std::atomic<bool>& stop, TrainObserver& observer);

}  // namespace mdsm::train

// The training state as one file, written atomically: whatever happens, the last whole one is there. It holds
// all that a bit-for-bit resume needs; the model files beside it are for other commands and never read back.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/files.h"
#include "engine/trainable_energy.h"
#include "io/safetensors.h"
#include "train/objective.h"
#include "train/stats.h"

namespace mdsm::train {

struct StateHead {
  int64_t step = 0;    // steps done; also the loader's cursor
  double seconds = 0;  // of training so far
  StatsMeter meter;
  int64_t seed = 0;
  std::string options_hash;
  int64_t data_size = 0;  // images of the data set, and their fingerprint, to notice when it is another one
  std::string data_hash;  // none in states of earlier versions
};

// Weights, average and Adam's two moments of the engine and the tensors of the objective, with the head in
// the metadata, and a checksum.
void save_state(const fs::path& path, const engine::TrainableEnergy& engine, const Objective& objective,
                const StateHead& head);

class StateFile {
 public:
  // Reads the file, which must be as it was written. Its network must be this one.
  StateFile(const fs::path& path, const network::Spec& spec);
  // The same of bytes that were read elsewhere; `name` is for messages.
  StateFile(const fs::path& name, const std::string& bytes, const network::Spec& spec);
  const StateHead& head() const { return head_; }
  // Puts the vectors into the engine, and what is the objective's into the objective.
  void load(engine::TrainableEnergy& engine, Objective& objective) const;

 private:
  StateFile(io::SafetensorsFile file, const network::Spec& spec);

  io::SafetensorsFile file_;
  StateHead head_;
  nlohmann::json of_objective_;
};

// Keeps the state under another name, as it is, before a newer one takes its place.
void keep_state(const fs::path& state, const fs::path& earlier);

// True when weights and moments are all finite: only then is a state worth resuming.
bool state_is_finite(const engine::TrainableEnergy& engine);

}  // namespace mdsm::train

// Samples of every saved checkpoint of a run, drawn with the same seeds and the same sampler.
#pragma once

#include <atomic>
#include <memory>
#include <string>
#include <vector>

#include "app/model_use.h"
#include "app/sampler_choice.h"
#include "data/dataset.h"
#include "distributed/communicator.h"

namespace mdsm::app {

// ema-N.safetensors of a run folder in the order of N, and the last state, ema.safetensors. Throws where
// there is none.
std::vector<fs::path> find_checkpoints(const fs::path& run);

struct CheckpointSamples {
  std::unique_ptr<data::Dataset> images;  // null where a stop has ended the work, or it has failed
  std::string failed;                     // what is wrong with the checkpoint
};
// Several processes draw some of the samples each, and then all have all; what fails on one has failed on
// all. Throws only where a process is lost, or has another checkpoint. pad: as of the data beside them.
CheckpointSamples draw_checkpoint(const fs::path& checkpoint, const ModelUse& use,
                                  const SamplerChoice& sampler, std::span<const uint64_t> seeds, int64_t pad,
                                  const std::atomic<bool>& stop, distributed::Communicator& world);
// Images as --pad leaves those of a data set.
Tensor padded(Tensor images, int64_t pad);

}  // namespace mdsm::app

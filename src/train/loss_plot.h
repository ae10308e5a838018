// The picture of a run: how its loss fell, in whole and by noise levels, and the rates it was given.
#pragma once

#include <string>

#include "core/files.h"
#include "train/train_options.h"

namespace mdsm::train {

// From the lines of stats.jsonl, so that the plot of a resumed run shows all of it. The loss of the first
// twentieth of a run of many lines is left out.
std::string loss_plot(const fs::path& stats, const std::string& title, const TrainOptions& options);

}  // namespace mdsm::train

// The picture of a run: how its loss fell, in whole and in the parts that its objective shows, and the rates
// it was given.
#pragma once

#include <string>
#include <vector>

#include "core/files.h"

namespace mdsm::train {

// How an objective's loss is drawn.
struct LossPanel {
  struct Line {  // beside that of the whole loss
    std::string label, statistic;
    size_t index = 0;  // in the statistic's list
    std::string colour;
  };
  std::string label = "loss";
  bool logarithmic = true;  // not for a loss that may be below 0
  std::vector<Line> lines;
};

// From the lines of stats.jsonl, so that the plot of a resumed run shows all of it. The loss of the first
// twentieth of a run of many lines is left out.
std::string loss_plot(const fs::path& stats, const std::string& title, const LossPanel& panel);

}  // namespace mdsm::train

// Histograms of several groups of numbers in one picture, as SVG text.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "plot/plot.h"

namespace mdsm::plot {

struct HistogramGroup {
  std::string label;
  std::vector<double> values;  // those that are not finite are left out
};

// Shares of each group in equal bins from the smallest to the largest value of all; the far ends (one value
// in 200 of all together on either side) are counted in the outermost bins.
std::string histogram(const std::string& title, const std::string& x_label,
                      std::span<const HistogramGroup> groups, int bins = 50);

// Colours of groups, in the order of their use; from the ninth on they repeat.
const char* group_colour(size_t group);

}  // namespace mdsm::plot

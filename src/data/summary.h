// Figures and a picture of a data set, for `mdsm data` and for logs.
#pragma once

#include <map>
#include <vector>

#include "data/dataset.h"
#include "image/image.h"

namespace mdsm::data {

struct DatasetSummary {
  int64_t count = 0;
  Shape image;                          // n = 1
  float low = 0, high = 0;              // over all values
  std::vector<double> mean, deviation;  // per channel; deviation of the population
  std::map<int, int64_t> labels;        // images of each label; empty where there are none
};

DatasetSummary summarise(const Dataset& dataset);

// columns x rows images taken at even distances over the whole set (which is often sorted by class); fewer
// where the set is smaller.
image::Image contact_sheet(const Dataset& dataset, int64_t columns, int64_t rows, int64_t scale);

}  // namespace mdsm::data

// Samples given by path: a folder that `mdsm sample` has written, an .npy file, or any other source of
// images.
#pragma once

#include <memory>
#include <string>

#include "data/dataset.h"

namespace mdsm::eval {

struct SampleSource {
  std::string source;  // for open_dataset(): a folder of mdsm sample stands for the samples.npy inside
  std::string seeds;   // as samples.json has them; empty where it does not say
};
SampleSource sample_source(const std::string& given);

// options: all but the source.
std::unique_ptr<data::Dataset> open_samples(const SampleSource& from, data::DataOptions options = {});

}  // namespace mdsm::eval

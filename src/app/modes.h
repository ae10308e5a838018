// The job of `mdsm modes`: how many of the modes of stacked MNIST samples show.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "data/dataset.h"
#include "eval/modes.h"

namespace mdsm::app {

struct ModesOptions {
  std::string samples;               // folder of mdsm sample, or any data source
  data::DataOptions data;            // of the samples: split and limit
  std::string classifier = "mnist";  // reads one channel: a file, or the name of a bundled one
  bool bundled = true;  // the bundled one of that name, whatever files lie in the working directory
  int64_t seed = 0;     // of random data
  int64_t threads = 0;  // 0 = all
  std::string out;      // file for the JSON with all counts; empty: none
  bool force = false;   // replace it
};

struct ModesResult {
  eval::ModeCount count;
  std::string samples, seeds;  // what they are; their seeds where the source says
  struct {
    std::string file;
    nlohmann::json accuracy, accuracy_of;  // as the file has them; null where it does not say
    std::optional<double> rate;            // share that it gets right, of the images that rate_of names
    std::string rate_of;
  } classifier;
};

ModesResult run_modes(const ModesOptions& options);
nlohmann::json to_json(const ModesResult& result);
nlohmann::json file_json(const ModesResult& result);  // with the count of every mode
void print(const ModesResult& result);

}  // namespace mdsm::app

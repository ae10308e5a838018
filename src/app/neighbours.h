// The job of `mdsm neighbours`: samples beside the training images nearest to them, and whether they are
// nearer than they should be; in pixels, and in the space of a feature network when one is named.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/features.h"
#include "core/enum_names.h"
#include "data/dataset.h"
#include "eval/neighbours.h"

namespace mdsm::app {

struct NeighboursOptions {
  std::string samples;     // folder of mdsm sample, samples.npy, or images
  data::DataOptions data;  // the training images
  // Images that the model has not seen, to compare with: a source, or else the test split of the data.
  std::string held_out;
  int64_t held_out_limit = 1000;  // a random subset of so many; 0 = all
  bool no_held_out = false;       // neighbours only, no test of memorisation
  int64_t k = 10;                 // neighbours of each sample
  double quantile = 0.05;  // of the held-out images' nearest distances, against which samples are counted
  FeatureChoice features;
  std::string device = "cpu";      // where a TorchScript network runs
  int64_t seed = 0;                // of random subsets
  int64_t threads = 0;             // 0 = all
  std::string out = "neighbours";  // folder for the figures, the histograms and neighbours.json
  int64_t rows = 16, scale = 2;    // of the figure: samples, and the size of a pixel
  bool force = false;              // replace what is there
  nlohmann::json recorded;         // the options as given, kept in the results
};

// Where distances are measured.
enum class Space { pixels, features };
constexpr auto enum_names(Space) {
  return names_of<Space>({{Space::pixels, "pixels"}, {Space::features, "features"}});
}
const char* distance_text(Space space);  // what the numbers are

struct SpaceResult {
  Space space = Space::pixels;
  std::vector<eval::Neighbour>
      nearest;  // (samples x k), nearest first; index: the image's number in the source
  int64_t searched_in_double = 0;
  double seconds = 0;
  std::optional<eval::Memorisation> memorisation;   // with held-out images
  std::optional<eval::FeatureDescription> network;  // of the space of features
};

struct NeighboursResult {
  int64_t k = 0, n_training = 0, n_samples = 0;
  std::string samples, seeds, training;  // what they are; seeds of the samples, where the source says
  std::optional<std::string> held_out;
  SpaceResult pixels;
  std::optional<SpaceResult> features;
  nlohmann::json parameters;
  std::string out;
};

NeighboursResult run_neighbours(const NeighboursOptions& options);
nlohmann::json to_json(const NeighboursResult& result);    // the lists of neighbours are in the file only
nlohmann::json file_json(const NeighboursResult& result);  // neighbours.json
void print(const NeighboursResult& result);

}  // namespace mdsm::app

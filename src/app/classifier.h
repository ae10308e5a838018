// The job of `mdsm classifier`: trains a small classifier on a labelled data set, or measures one.
#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "classify/classifier.h"
#include "classify/training.h"
#include "core/enum_names.h"
#include "data/dataset.h"

namespace mdsm::app {

struct ClassifierOptions {
  data::DataOptions data;
  classify::ClassifierTraining training;  // its seed and flip are those of this job and of the data
  double held_out = 0.1;  // share kept from training, where the source has no test part; 0 = none
  int64_t seed = 0;       // of everything random
  int64_t threads = 0;    // 0 = all
  // One of the two: the file to write, or the classifier to measure (a file, or the name of a bundled one).
  std::string out, measured;
  bool full = false;   // weights as float32, not float16
  bool force = false;  // replace the file
  bool log_epochs = true;
};

// Which images the accuracy is of.
enum class AccuracyOf { test, held_out, training, all };
constexpr auto enum_names(AccuracyOf) {
  return names_of<AccuracyOf>({{AccuracyOf::test, "test images"},
                               {AccuracyOf::held_out, "held-out images"},
                               {AccuracyOf::training, "training images"},
                               {AccuracyOf::all, "all images"}});
}

struct ClassifierResult {
  classify::Accuracy accuracy;
  AccuracyOf of = AccuracyOf::all;
  std::string data;  // description of those images
  classify::ClassifierSpec spec;
  std::vector<std::string> classes;
  nlohmann::json info;  // what the classifier's file says beside
  double seconds = 0;
  std::string out;
};

ClassifierResult run_classifier(const ClassifierOptions& options, const std::atomic<bool>& stop);
nlohmann::json to_json(const ClassifierResult& result);
void print(const ClassifierResult& result);

}  // namespace mdsm::app

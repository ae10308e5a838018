// Trains a classifier on a labelled data set: cross-entropy, AdamW with a warm-up and a cosine to 0, random
// shifts and flips. The result depends on data, options and seed alone, not on the number of threads.
#pragma once

#include <atomic>
#include <functional>

#include "classify/classifier.h"

namespace mdsm::classify {

struct ClassifierTraining {
  int64_t width = 16, features = 128;
  int64_t epochs = 10, batch = 128;
  double lr = 2e-3, weight_decay = 0.02;
  int64_t shift = 2;  // images are moved by up to so many pixels in both directions
  bool flip = false;  // and flipped left to right half of the time
  // Gaussian noise on every image, its level drawn between these, evenly in the logarithm; sigma_max 0: none.
  double sigma_min = 0.05, sigma_max = 0;
  uint64_t seed = 0;
};

struct EpochReport {
  int64_t epoch = 0, epochs = 0, step = 0, steps = 0;  // finished, of
  double loss = 0, accuracy = 0;                       // mean over the epoch so far, while training
};

// `observe` is told after every step. Throws when labels are missing, or when the loss is not finite; returns
// an unfinished classifier early when *stop becomes true.
Classifier train_classifier(const data::Dataset& data, const ClassifierTraining& options,
                            const std::function<void(const EpochReport&)>& observe = {},
                            const std::atomic<bool>* stop = nullptr);

}  // namespace mdsm::classify

// What is timed on our side: whole training and Langevin steps of the native engine, through the seams that
// trainer and samplers use. Noise is drawn inside the timed part, as it is in the peer.
#pragma once

#include <memory>
#include <vector>

#include "bench/problem.h"
#include "engine/native/profile.h"
#include "engine/registry/registry.h"
#include "engine/trainable_energy.h"
#include "train/likelihood.h"

namespace mdsm::bench {

struct StepNumbers {
  double lr = 1e-4, ema = 0.999, eps = 0.02;
  uint64_t seed = 0;
  bool exact = false;  // direct convolutions only
  engine::Precision precision = engine::Precision::float32;
};

struct Profile {
  double seconds = 0;  // of a step; what the layers do not account for is noise, optimiser and the like
  std::vector<engine::LayerTime> layers;  // of one step
};

class NativeSteps {
 public:
  NativeSteps(Problem problem, const StepNumbers& numbers);

  // Seconds of one step, the mean over `repeat` of them.
  double train(int64_t repeat);
  double langevin(int64_t repeat);
  // Training steps of maximum likelihood with its usual number of Langevin steps, on the same images.
  double likelihood(int64_t repeat);
  Profile profile(Task task, int64_t repeat);
  // Writes energy.npy (N), grad_x.npy (N,C,H,W), residual.npy (N) and gradient.npy (parameters) of the
  // problem's noisy images.
  void verify(const fs::path& folder);

 private:
  Problem problem_;
  StepNumbers numbers_;
  std::unique_ptr<engine::TrainableEnergy> engine_;
  Tensor noisy_;
  std::vector<float> residual_, energy_;
  int64_t step_ = 0;
  train::LikelihoodObjective likelihood_;
};

}  // namespace mdsm::bench

// One transition of Hamiltonian Monte Carlo for a batch of chains: fresh momenta, a leapfrog trajectory, and
// a Metropolis test for every chain by itself. What the chains are for (sampling, annealing) is the caller's
// business.
#pragma once

#include "sample/sampler.h"

namespace mdsm::sample {

// A batch of chains that somebody else owns. energy and grad_x belong to x, before and after a transition.
struct ChainState {
  TensorView x, grad_x;             // (N,C,H,W)
  std::span<float> energy;          // (N)
  std::span<const uint64_t> seeds;  // (N) everything random about a chain comes from streams of its seed
};

class HmcTransition {
 public:
  HmcTransition(engine::EnergyModel& engine, const Shape& shape);  // shape: of the batch

  // `step` names the random numbers; eps (N) is the leapfrog step of each chain, made up to a fifth longer or
  // shorter at random. The momentum has variance `temperature`; at 0 only downhill moves are accepted.
  void run(const ChainState& chains, int64_t step, double temperature, std::span<const double> eps,
           int64_t leapfrogs);

  // Of the last run, (N): the probability of accepting, and what happened.
  std::span<const double> acceptance() const { return acceptance_; }
  std::span<const uint8_t> accepted() const { return accepted_; }

 private:
  void propose(const ChainState& chains, int64_t step, double temperature, std::span<const double> eps,
               int64_t leapfrogs);
  double probability(int64_t row, double temperature) const;

  engine::EnergyModel& engine_;
  Tensor x_, velocity_, grad_x_;
  std::vector<float> energy_;
  std::vector<double> before_, eps_, acceptance_;  // before: H at the start of the trajectory
  std::vector<uint8_t> diverged_, accepted_;
};

}  // namespace mdsm::sample

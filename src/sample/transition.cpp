#include "sample/transition.h"

#include <algorithm>
#include <cmath>

#include "core/threads.h"
#include "sample/hmc.h"
#include "sample/update.h"

namespace mdsm::sample {
namespace {

// A trajectory whose time is the same at every proposal can come back to where it began; leapfrog steps of
// random length (within this share) prevent it.
constexpr double kJitter = 0.2;

double hamiltonian(float energy, std::span<const float> velocity) {
  return static_cast<double>(energy) + sum_of_squares(velocity) / 2;
}

}  // namespace

HmcTransition::HmcTransition(engine::EnergyModel& engine, const Shape& shape)
    : engine_(engine),
      x_(shape),
      velocity_(shape),
      grad_x_(shape),
      energy_(static_cast<size_t>(shape.n)),
      before_(static_cast<size_t>(shape.n)),
      eps_(static_cast<size_t>(shape.n)),
      acceptance_(static_cast<size_t>(shape.n)),
      diverged_(static_cast<size_t>(shape.n)),
      accepted_(static_cast<size_t>(shape.n)) {}

// Moves the proposal along its trajectory, starting from the chains' state with fresh velocities.
void HmcTransition::propose(const ChainState& chains, int64_t step, double temperature,
                            std::span<const double> eps, int64_t leapfrogs) {
  std::ranges::copy(chains.x.values(), x_.data());
  std::ranges::copy(chains.grad_x.values(), grad_x_.data());
  std::ranges::copy(chains.energy, energy_.begin());
  const float scale = static_cast<float>(std::sqrt(temperature));
  const auto stream = [&](int64_t row, Draw draw) {
    return sample_stream(chains.seeds[static_cast<size_t>(row)], draw, static_cast<uint64_t>(step));
  };
  for (size_t i = 0; i < eps_.size(); ++i) {
    auto jitter = stream(static_cast<int64_t>(i), Draw::jitter);
    eps_[i] = eps[i] * (1 + (leapfrogs > 1 ? kJitter * (2 * jitter.uniform() - 1) : 0));
  }
  parallel_for(x_.shape().n, rows_per_thread(x_.shape().per_image()), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) {
      const auto v = velocity_.view().image(row);
      stream(row, Draw::momentum).fill_normal(v);
      for (float& value : v) value *= scale;
      before_[static_cast<size_t>(row)] = hamiltonian(chains.energy[static_cast<size_t>(row)], v);
    }
  });
  leapfrog(engine_, x_, velocity_, grad_x_, energy_, eps_, leapfrogs, diverged_);
}

// min(1, exp(-dH/T)); at T = 0 only downhill.
double HmcTransition::probability(int64_t row, double temperature) const {
  const auto at = static_cast<size_t>(row);
  if (diverged_[at]) return 0;
  const double rise = hamiltonian(energy_[at], velocity_.view().image(row)) - before_[at];
  if (!std::isfinite(rise)) return 0;
  return rise <= 0 ? 1 : temperature > 0 ? std::exp(-rise / temperature) : 0;
}

void HmcTransition::run(const ChainState& chains, int64_t step, double temperature,
                        std::span<const double> eps, int64_t leapfrogs) {
  propose(chains, step, temperature, eps, leapfrogs);
  for (size_t i = 0; i < accepted_.size(); ++i) {
    const auto row = static_cast<int64_t>(i);
    acceptance_[i] = probability(row, temperature);
    auto decision = sample_stream(chains.seeds[i], Draw::accept, static_cast<uint64_t>(step));
    accepted_[i] = decision.uniform() < acceptance_[i];
    if (!accepted_[i]) continue;
    std::ranges::copy(x_.view().image(row), chains.x.image(row).data());
    std::ranges::copy(grad_x_.view().image(row), chains.grad_x.image(row).data());
    chains.energy[i] = energy_[i];
  }
}

}  // namespace mdsm::sample

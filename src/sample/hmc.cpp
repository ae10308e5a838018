#include "sample/hmc.h"

#include <algorithm>
#include <cmath>

#include "core/threads.h"
#include "sample/adapt.h"
#include "sample/chains.h"
#include "sample/checks.h"
#include "sample/schedule.h"
#include "sample/update.h"

namespace mdsm {
namespace {

// A trajectory whose time is the same at every proposal can come back to where it began; leapfrog steps of
// random length (within this share) prevent it.
constexpr double kJitter = 0.2;

bool one_temperature(std::span<const double> temperatures) {
  return std::ranges::all_of(temperatures, [&](double t) { return t == temperatures[0]; });
}

double hamiltonian(float energy, std::span<const float> velocity) {
  return static_cast<double>(energy) + sum_of_squares(velocity) / 2;
}

// One proposal for all chains and the memory it needs.
class Proposal {
 public:
  Proposal(Engine& engine, const Shape& shape)
      : engine_(engine),
        x_(shape),
        velocity_(shape),
        grad_x_(shape),
        energy_(static_cast<size_t>(shape.n)),
        before_(static_cast<size_t>(shape.n)),
        diverged_(static_cast<size_t>(shape.n)) {}

  // Moves the proposal along its trajectory, starting from the chains' state with fresh velocities.
  void make(Chains& chains, int64_t step, double temperature, std::span<const double> eps,
            int64_t leapfrogs) {
    std::ranges::copy(chains.x().values(), x_.data());
    std::ranges::copy(chains.grad_x().values(), grad_x_.data());
    std::ranges::copy(chains.energy(), energy_.begin());
    const float scale = static_cast<float>(std::sqrt(temperature));
    parallel_for(chains.rows(), rows_per_thread(x_.shape().per_image()), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const auto v = velocity_.view().image(row);
        sample_stream(chains.seed(row), Draw::momentum, static_cast<uint64_t>(step)).fill_normal(v);
        for (float& value : v) value *= scale;
        before_[static_cast<size_t>(row)] = hamiltonian(chains.energy()[static_cast<size_t>(row)], v);
      }
    });
    leapfrog(engine_, x_, velocity_, grad_x_, energy_, eps, leapfrogs, diverged_);
  }

  // min(1, exp(-dH/T)); at T = 0 only downhill.
  double acceptance(int64_t row, double temperature) const {
    const auto at = static_cast<size_t>(row);
    if (diverged_[at]) return 0;
    const double rise = hamiltonian(energy_[at], velocity_.view().image(row)) - before_[at];
    if (!std::isfinite(rise)) return 0;
    return rise <= 0 ? 1 : temperature > 0 ? std::exp(-rise / temperature) : 0;
  }

  void accept(Chains& chains, int64_t row) const {
    std::ranges::copy(x_.view().image(row), chains.x().image(row).data());
    std::ranges::copy(grad_x_.view().image(row), chains.grad_x().image(row).data());
    chains.energy()[static_cast<size_t>(row)] = energy_[static_cast<size_t>(row)];
  }

 private:
  Engine& engine_;
  Tensor x_, velocity_, grad_x_;
  std::vector<float> energy_;
  std::vector<double> before_;  // H at the start of the trajectory
  std::vector<uint8_t> diverged_;
};

}  // namespace

HmcOptions mala_options() {
  HmcOptions options;
  options.eps = 0.02, options.leapfrog = 1, options.target = 0.574;
  return options;
}

void leapfrog(Engine& engine, TensorView x, TensorView velocity, TensorView grad_x, std::span<float> energy,
              std::span<const double> eps, int64_t steps, std::vector<uint8_t>& diverged) {
  std::ranges::fill(diverged, 0);
  const auto kick = [&](int64_t row) {
    return drift(velocity.image(row), grad_x.image(row),
                 static_cast<float>(-eps[static_cast<size_t>(row)] / 2));
  };
  for (int64_t step = 0; step < steps; ++step) {
    parallel_for(x.shape.n, rows_per_thread(x.shape.per_image()), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row) {
        const auto at = static_cast<size_t>(row);
        const bool fine = kick(row) && drift(x.image(row), velocity.image(row), static_cast<float>(eps[at]));
        if (fine) continue;
        diverged[at] = 1;  // parked where the engine can still compute; its proposal will be rejected
        std::ranges::fill(x.image(row), 0.0f);
        std::ranges::fill(velocity.image(row), 0.0f);
      }
    });
    engine.energy_and_gradient(x, energy, grad_x);
    parallel_for(x.shape.n, rows_per_thread(x.shape.per_image()), [&](int64_t begin, int64_t end) {
      for (int64_t row = begin; row < end; ++row)
        if (!kick(row)) diverged[static_cast<size_t>(row)] = 1;
    });
  }
}

Samples hmc(const Run& run, std::span<const double> temperatures, const HmcOptions& options) {
  check_temperatures(temperatures);
  check_positive(options.eps, "eps");
  check_at_least(options.leapfrog, 1, "leapfrog");
  check_range(options.target, 0.05, 0.99, "target");
  const int64_t steps = static_cast<int64_t>(temperatures.size());
  const bool fixed = one_temperature(temperatures);
  const int64_t burn_in = burn_in_steps(options.burn_in, steps, fixed ? steps / 2 : steps);

  Chains chains(run, 1, "use a smaller --eps");
  const auto n = static_cast<size_t>(chains.rows());
  Proposal proposal(run.engine, chains.x().shape);
  std::vector<StepSize> step_sizes(n, StepSize(options.eps, options.target));
  std::vector<double> eps(n), accepted(n);
  int64_t counted = 0;
  chains.evaluate(0);
  for (int64_t step = 0;; ++step) {
    const double t = step < steps ? temperatures[static_cast<size_t>(step)] : 0;
    chains.report(step, steps, t, chains.sigma0() * std::sqrt(t));
    if (fixed && step > burn_in) chains.record_draws();
    if (step == steps || chains.stop_asked()) break;

    for (size_t i = 0; i < n; ++i) {
      auto jitter = sample_stream(run.seeds[i], Draw::jitter, static_cast<uint64_t>(step));
      const double share = options.leapfrog > 1 ? kJitter * (2 * jitter.uniform() - 1) : 0;
      eps[i] = step_sizes[i].value() * (1 + share);
    }
    proposal.make(chains, step, t, eps, options.leapfrog);

    // With burn-in all the way, the share is taken over the second half of it.
    const bool counts = step >= (burn_in < steps ? burn_in : steps / 2);
    counted += counts;
    for (size_t i = 0; i < n; ++i) {
      const int64_t row = static_cast<int64_t>(i);
      chains.count_evaluations(row, options.leapfrog);
      const double a = proposal.acceptance(row, t);
      const bool yes = sample_stream(run.seeds[i], Draw::accept, static_cast<uint64_t>(step)).uniform() < a;
      if (yes) proposal.accept(chains, row);
      if (counts) accepted[i] += yes;
      if (step < burn_in && t > 0) step_sizes[i].learn(a);
      if (step + 1 == burn_in) step_sizes[i].freeze();
    }
  }
  for (size_t i = 0; i < n; ++i) {
    chains.result().acceptance.push_back(counted ? accepted[i] / static_cast<double>(counted) : 0);
    chains.result().step_size.push_back(step_sizes[i].value());
  }
  return chains.finish(options.jump, chains.result().steps);
}

Samples mala(const Run& run, std::span<const double> temperatures, const HmcOptions& options) {
  HmcOptions one = options;
  one.leapfrog = 1;
  return hmc(run, temperatures, one);
}

}  // namespace mdsm

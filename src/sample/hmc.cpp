#include "sample/hmc.h"

#include <algorithm>
#include <cmath>

#include "core/threads.h"
#include "sample/adapt.h"
#include "sample/chains.h"
#include "sample/checks.h"
#include "sample/schedule.h"
#include "sample/transition.h"
#include "sample/update.h"

namespace mdsm::sample {
namespace {

bool one_temperature(std::span<const double> temperatures) {
  return std::ranges::all_of(temperatures, [&](double t) { return t == temperatures[0]; });
}

}  // namespace

HmcOptions mala_options() {
  HmcOptions options;
  options.eps = 0.02, options.leapfrog = 1, options.target = 0.574;
  return options;
}

void leapfrog(engine::EnergyModel& engine, TensorView x, TensorView velocity, TensorView grad_x,
              std::span<float> energy, std::span<const double> eps, int64_t steps,
              std::vector<uint8_t>& diverged) {
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
  run.model.require_energy("a Metropolis test");
  check_temperatures(temperatures);
  check_positive(options.eps, "eps");
  check_at_least(options.leapfrog, 1, "leapfrog");
  check_range(options.target, 0.05, 0.99, "target");
  const int64_t steps = static_cast<int64_t>(temperatures.size());
  const bool fixed = one_temperature(temperatures);
  const int64_t burn_in = burn_in_steps(options.burn_in, steps, fixed ? steps / 2 : steps);

  Chains chains(run, 1, "use a smaller --eps");
  const auto n = static_cast<size_t>(chains.rows());
  HmcTransition transition(run.model, chains.x().shape);
  std::vector<StepSize> step_sizes(n, StepSize(options.eps, options.target));
  std::vector<double> eps(n), accepted(n);
  int64_t counted = 0;
  chains.evaluate(0);
  for (int64_t step = 0;; ++step) {
    const double t = step < steps ? temperatures[static_cast<size_t>(step)] : 0;
    chains.report(step, steps, t, chains.sigma0() * std::sqrt(t));
    if (fixed && step > burn_in) chains.record_draws();
    if (step == steps || chains.stop_asked()) break;

    for (size_t i = 0; i < n; ++i) eps[i] = step_sizes[i].value();
    transition.run({chains.x(), chains.grad_x(), chains.energy(), run.seeds}, step, t, eps, options.leapfrog);

    // With burn-in all the way, the share is taken over the second half of it.
    const bool counts = step >= (burn_in < steps ? burn_in : steps / 2);
    counted += counts;
    for (size_t i = 0; i < n; ++i) {
      chains.count_evaluations(static_cast<int64_t>(i), options.leapfrog);
      if (counts) accepted[i] += transition.accepted()[i];
      if (step < burn_in && t > 0) step_sizes[i].learn(transition.acceptance()[i]);
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

}  // namespace mdsm::sample

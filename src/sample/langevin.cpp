#include "sample/langevin.h"

#include <cmath>

#include "core/error.h"
#include "sample/chains.h"
#include "sample/checks.h"
#include "sample/update.h"

namespace mdsm::sample {
namespace {

Samples run_langevin(const Run& run, std::span<const double> temperatures, const LangevinOptions& options,
                     int64_t draws_after) {
  check_temperatures(temperatures);
  check_positive(options.eps, "eps");
  Chains chains(run, 1, "use a smaller --eps");
  const int64_t steps = static_cast<int64_t>(temperatures.size());
  const float factor = static_cast<float>(-options.eps * options.eps / 2);
  for (int64_t step = 0;; ++step) {
    chains.evaluate(step);
    const double t = step < steps ? temperatures[static_cast<size_t>(step)] : 0;
    chains.report(step, steps, t, chains.sigma0() * std::sqrt(t));
    if (step > draws_after) chains.record_draws();
    if (step == steps || chains.stop_asked()) return chains.finish(options.jump, step);
    const float scale = static_cast<float>(options.eps * std::sqrt(t));
    chains.for_rows(step, [&](int64_t row) {
      const auto x = chains.x().image(row), g = chains.grad_x().image(row);
      if (scale == 0) return drift(x, g, factor);
      return drift_and_diffuse(x, g, factor, scale, chains.noise(row, Draw::step, step));
    });
  }
}

}  // namespace

Samples annealed_langevin(const Run& run, std::span<const double> temperatures,
                          const LangevinOptions& options) {
  return run_langevin(run, temperatures, options, static_cast<int64_t>(temperatures.size()));
}

Samples langevin(const Run& run, const FixedTemperatureOptions& fixed, const LangevinOptions& options) {
  const auto temperatures = constant_schedule(fixed.temperature, fixed.steps);
  return run_langevin(run, temperatures, options, burn_in_steps(fixed.burn_in, fixed.steps, fixed.steps / 2));
}

}  // namespace mdsm::sample

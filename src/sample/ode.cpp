#include <algorithm>
#include <cmath>

#include "sample/blind.h"
#include "sample/chains.h"
#include "sample/checks.h"
#include "sample/fast.h"
#include "sample/update.h"

namespace mdsm::sample {

std::vector<double> noise_grid(const OdeOptions& options) {
  check_at_least(options.steps, 1, "steps");
  check_at_least(options.hot, 0, "hot");
  check_levels(options.sigma_min, options.sigma_max);
  check_range(options.rho, 0.1, 100, "rho");
  const double from = std::pow(options.sigma_max, 1 / options.rho);
  const double to = std::pow(options.sigma_min, 1 / options.rho);
  std::vector<double> grid;
  for (int64_t i = 0; i <= options.steps; ++i) {
    const double f = static_cast<double>(i) / static_cast<double>(options.steps);
    grid.push_back(std::pow(from + f * (to - from), options.rho));
  }
  grid.front() = options.sigma_max, grid.back() = options.sigma_min;
  return grid;
}

Samples ode(const Run& run, const OdeOptions& options) {
  const auto grid = noise_grid(options);
  Chains chains(run, options.sigma_max, "use more --steps");
  const double scale = chains.sigma0() * chains.sigma0();  // d = scale * grad_x
  const bool heun = options.method == OdeMethod::heun;
  Tensor slope(heun ? chains.x().shape : Shape{});  // grad_x at the beginning of the interval

  const auto move = [&](int64_t step, TensorView along, double factor) {
    chains.for_rows(step, [&](int64_t row) {
      return drift(chains.x().image(row), along.image(row), static_cast<float>(factor));
    });
  };
  const int64_t hot = run.start ? 0 : options.hot, steps = hot + options.steps;
  double noise = 0;  // scale of the last hot step's
  for (int64_t step = 0;; ++step) {
    const int64_t level = std::max<int64_t>(step - hot, 0);
    const double now = grid[static_cast<size_t>(level)];
    chains.evaluate(step);
    chains.report(step, steps, 0, now);
    if (step == steps || chains.stop_asked()) return chains.finish(options.jump, step);
    if (step < hot) {
      noise = blended_scale(kHotShare, 1, now, noise);
      chains.for_rows(step, [&](int64_t row) {
        return blended_step(chains, row, step, chains.grad_x().image(row), kHotShare * scale, noise);
      });
      continue;
    }
    const double next = grid[static_cast<size_t>(level) + 1];
    const double whole = (next - now) / now * scale;
    if (heun) std::ranges::copy(chains.grad_x().values(), slope.data());
    move(step, chains.grad_x(), whole);
    if (!heun) continue;
    // Half of the slope at the beginning taken back, half of the one at the end put in its place.
    chains.evaluate(step);
    move(step, slope, -whole / 2);
    move(step, chains.grad_x(), (next - now) / next / 2 * scale);
  }
}

}  // namespace mdsm::sample

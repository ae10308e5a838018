// The noise-blind sampler. The grid integrator is in ode.cpp.
#include "sample/fast.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "sample/blind.h"
#include "sample/chains.h"
#include "sample/checks.h"
#include "sample/update.h"

namespace mdsm::sample {
namespace {

void check(const FastOptions& options) {
  check_range(options.h0, 1e-4, 1, "h0");
  check_range(options.beta, 0, 1, "beta");
  check_positive(options.sigma_end, "sigma_end");
  check_positive(options.sigma_max, "sigma_max");
  check_at_least(options.evaluations, 1, "evaluations");
  check_at_least(options.hot, 0, "hot");
}

float root_mean_square(std::span<const float> d) {
  return static_cast<float>(std::sqrt(sum_of_squares(d) / static_cast<double>(d.size())));
}

// The residuals of all rows still in the batch, and what they say about the noise.
struct Residuals {
  Tensor d;
  std::vector<float> sigma;
  std::vector<double> scale;  // of the last step's noise

  void compute(Chains& chains, int64_t step, const Residual& residual) {
    chains.for_rows(step, [&](int64_t row) {
      const auto to = d.view().image(row);
      residual(chains.index(row), chains.x().image(row), chains.grad_x().image(row), to);
      sigma[static_cast<size_t>(row)] = root_mean_square(to);
      return std::isfinite(sigma[static_cast<size_t>(row)]);
    });
  }
  double mean_sigma(int64_t rows) const {
    return std::accumulate(sigma.begin(), sigma.begin() + rows, 0.0) / static_cast<double>(rows);
  }
};

// Takes those that are clean enough (or all) out of the batch, after their final jump to x - d. Residuals of
// the ones that stay move up with them.
void take_finished(Chains& chains, Residuals& r, const FastOptions& options, int64_t step, bool all) {
  std::vector<uint8_t> finished(static_cast<size_t>(chains.rows()));
  int64_t kept = 0;
  for (int64_t row = 0; row < chains.rows(); ++row) {
    const auto at = static_cast<size_t>(row);
    const auto d = r.d.view().image(row);
    finished[at] = all || r.sigma[at] < options.sigma_end;
    if (finished[at]) {
      const bool jump = options.jump && !chains.result().stopped;
      if (jump && !drift(chains.x().image(row), d, -1)) chains.fail_diverged(row, step);
      chains.keep(row);
    } else {
      if (kept < row) std::ranges::copy(d, r.d.view().image(kept).data());
      r.sigma[static_cast<size_t>(kept)] = r.sigma[at];
      r.scale[static_cast<size_t>(kept++)] = r.scale[at];
    }
  }
  if (kept < chains.rows()) chains.drop(finished);
}

}  // namespace

double blended_scale(double h, double kept, double sigma, double previous) {
  const double stays = (1 - h) * previous;
  const double fresh = std::max(kept * kept - (1 - h) * (1 - h), 0.0) * sigma * sigma;
  return (std::sqrt(stays * stays + 8 * fresh) - stays) / 2;
}

bool blended_step(Chains& chains, int64_t row, int64_t step, std::span<const float> along, double factor,
                  double scale) {
  return drift_and_diffuse(chains.x().image(row), along, static_cast<float>(-factor),
                           static_cast<float>(scale), chains.noise(row, Draw::step, step),
                           chains.noise(row, Draw::step, step + 1));
}

Samples run_blind(const Run& run, const FastOptions& options, const Residual& residual) {
  check(options);
  Chains chains(run, options.sigma_max, "use a smaller --h0");
  const auto rows = static_cast<size_t>(chains.rows());
  Residuals r{Tensor(chains.x().shape), std::vector<float>(rows), std::vector<double>(rows)};
  const int64_t most = options.evaluations - 1;  // steps; the last evaluation serves the jump
  const int64_t hot_steps = run.start ? 0 : std::min(options.hot, options.evaluations / 4);
  for (int64_t step = 0;; ++step) {
    chains.evaluate(step);
    r.compute(chains, step, residual);
    chains.report(step, most, 0, r.mean_sigma(chains.rows()));
    take_finished(chains, r, options, step, step == most || chains.stop_asked());
    if (chains.rows() == 0) return std::move(chains.result());

    const bool hot = step < hot_steps;
    const double t = static_cast<double>(step - hot_steps + 1);
    const double h = hot ? kHotShare : options.h0 * t / (1 + options.h0 * (t - 1));
    const double kept = hot ? 1 : 1 - options.beta * h;  // share of sigma that stays
    chains.for_rows(step, [&](int64_t row) {
      // Hot steps keep the noise of the start, which is known: going by the estimate, its small error would
      // add up from step to step.
      const double sigma = hot ? options.sigma_max : r.sigma[static_cast<size_t>(row)];
      double& scale = r.scale[static_cast<size_t>(row)];
      scale = blended_scale(h, kept, sigma, scale);
      return blended_step(chains, row, step, r.d.view().image(row), h, scale);
    });
  }
}

Samples fast_blind(const Run& run, const FastOptions& options) {
  const double sigma0 = run.model.sigma0();
  const float scale = static_cast<float>(sigma0 * sigma0);
  return run_blind(run, options,
                   [scale](int64_t, std::span<const float>, std::span<const float> g, std::span<float> d) {
                     for (size_t i = 0; i < d.size(); ++i) d[i] = scale * g[i];
                   });
}

}  // namespace mdsm::sample

// What the hot steps of ode and multistep have to do.
#pragma once

#include <gtest/gtest.h>

#include "noise_engines.h"

namespace mdsm::test {

// Hot steps are Langevin steps for the density of noisy data. Here that is a point at -1 under noise 1, and
// the start has mean 0.5: 1.5 times `left` of the difference is there after `options.hot` of them. A start of
// the caller's has none. `draw` is the sampler, `evaluations` what its steps and the jump cost without hot
// ones.
template <class Options, class Draw>
void expect_hot_steps_forget_the_start(const Draw& draw, const Options& options, double left,
                                       int64_t evaluations) {
  PointEngine engine;
  std::ranges::fill(engine.mean, -1);
  const size_t n = 500;
  const auto seeds = seeds_from(0, n);
  double sum = 0, square = 0;
  const auto observer = [&](const sample::StepReport& r) {
    EXPECT_EQ(r.steps, options.hot + options.steps);
    if (r.step != options.hot) return;
    for (const float x : r.x.values()) sum += x + 1, square += (x + 1) * (x + 1);
  };
  const auto samples = draw(sample::Run{engine, seeds, {}, observer}, options);
  const double count = static_cast<double>(n * kPixels), mean = 1.5 * left;
  EXPECT_NEAR(sum / count, mean, 5 / std::sqrt(count));
  EXPECT_NEAR(square / count, 1 + mean * mean, 5 * std::sqrt(2 / count));
  EXPECT_EQ(samples.evaluations[0], options.hot + evaluations);
  const Tensor start = sample::start_images(engine.image_shape(), seeds);
  EXPECT_EQ(draw(sample::Run{engine, seeds, start.view()}, options).evaluations[0], evaluations);
}

}  // namespace mdsm::test

#include "restore/restore.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "engine/registry/registry.h"
#include "restore/masks.h"
#include "sample/moments.h"
#include "small_network.h"

namespace mdsm::restore {
namespace {
using namespace test;

std::unique_ptr<engine::TrainableEnergy> tiny_network() {
  return engine::make_engine({}, lively_parameters(small_spec(), 3));
}

Tensor some_images(int64_t n) {
  Tensor images({n, 1, 8, 8});
  RandomStream(1, Purpose::check).fill_uniform(images.values(), 0, 1);
  return images;
}

using Inpaint = std::function<sample::Samples(const sample::Run&, ConstTensorView, const image::Mask&)>;

std::vector<Inpaint> both_ways() {
  return {[](const sample::Run& run, ConstTensorView images, const image::Mask& mask) {
            return inpaint_fast(run, images, mask);
          },
          [](const sample::Run& run, ConstTensorView images, const image::Mask& mask) {
            return inpaint_annealed(
                run, images, mask, sample::make_schedule({sample::Annealing::exponential, 100, 1, 5, 30, 5}));
          }};
}

TEST(Inpaint, NeverReadsAMissingPixel) {
  const auto engine = tiny_network();
  const auto seeds = seeds_from(0, 5);
  const image::Mask mask = random_masks(8, 0.4, seeds);
  Tensor images = some_images(5);
  for (const auto& inpaint : both_ways()) {
    const auto before = inpaint({*engine, seeds}, images, mask);
    for (const float other : {0.0f, 1e30f, std::numeric_limits<float>::quiet_NaN()}) {
      Tensor changed = some_images(5);
      for (int64_t n = 0; n < 5; ++n)
        for (int64_t i = 0; i < kPixels; ++i)
          if (!mask.at(n, 0, i / 8, i % 8)) changed.view().image(n)[static_cast<size_t>(i)] = other;
      const auto after = inpaint({*engine, seeds}, changed, mask);
      EXPECT_TRUE(std::ranges::equal(before.x.values(), after.x.values())) << other;
      EXPECT_EQ(before.energy, after.energy);
    }
  }
}

TEST(Inpaint, ReturnsKnownPixelsUntouchedAndFillsTheOthers) {
  const auto engine = tiny_network();
  const auto seeds = seeds_from(0, 3);
  const image::Mask mask = box_mask(8, {1, 2, 4, 4});
  const Tensor images = some_images(3);
  for (const auto& inpaint : both_ways()) {
    const auto samples = inpaint({*engine, seeds}, images, mask);
    for (int64_t n = 0; n < 3; ++n)
      for (int64_t i = 0; i < kPixels; ++i) {
        const auto at = static_cast<size_t>(i);
        if (mask.at(n, 0, i / 8, i % 8))
          EXPECT_EQ(samples.x.view().image(n)[at], images.view().image(n)[at]);
        else
          EXPECT_NE(samples.x.view().image(n)[at], images.view().image(n)[at]);
      }
  }
}

TEST(Inpaint, AnnealedSamplesTheConditionalDistribution) {
  // Pixel 0 of a coupled pair is known: the mean of pixel 1 is mean1 - coupling/precision1 (x0 - mean0).
  GaussianEnergy engine;
  const size_t n = 2000;
  const auto seeds = seeds_from(0, n);
  const Tensor images(engine.images(static_cast<int64_t>(n)), 2.0f);
  image::Mask mask = box_mask(8, {1, 0, 7, 8});
  std::ranges::fill(mask.known, uint8_t{0});
  mask.known[0] = 1;
  const auto samples =
      inpaint_annealed({engine, seeds}, images, mask, sample::constant_schedule(1, 150), {0.4, false});
  double sum = 0, square = 0, free = 0;
  for (size_t i = 0; i < n; ++i) {
    const auto x = samples.x.view().image(static_cast<int64_t>(i));
    sum += x[1], square += static_cast<double>(x[1]) * x[1], free += x[9];
  }
  const double count = static_cast<double>(n), mean = sum / count;
  const double error = std::sqrt((square / count - mean * mean) / count);
  EXPECT_NEAR(mean, engine.mean[1] - 0.6 / engine.precision[1] * (2 - engine.mean[0]), 5 * error);
  EXPECT_NEAR(free / count, engine.mean[9], 5 / std::sqrt(count));
}

TEST(Restore, ResultSatisfiesTheMeasurement) {
  const auto engine = tiny_network();
  const auto seeds = seeds_from(0, 4);
  const Tensor images = some_images(4);
  std::vector<std::unique_ptr<LinearMeasurement>> problems;
  problems.push_back(block_mean_measurement(2));
  problems.push_back(blur_measurement(gaussian_kernel(0.8), 8, 8));
  problems.push_back(mask_measurement(random_masks(8, 0.5, seeds)));
  for (const auto& problem : problems) {
    const Tensor measured = problem->lift(problem->measure(images), images.shape());
    const auto samples = restore({*engine, seeds}, *problem, measured);
    const Tensor again = problem->lift(problem->measure(samples.x), images.shape());
    for (size_t i = 0; i < again.values().size(); ++i) EXPECT_NEAR(again.data()[i], measured.data()[i], 1e-4);
    EXPECT_LE(std::ranges::max(samples.evaluations), sample::FastOptions{}.evaluations);
  }
}

TEST(Restore, WithNothingMeasuredIsTheFastSampler) {
  const auto engine = tiny_network();
  const auto seeds = seeds_from(0, 2);
  image::Mask mask = box_mask(8, {0, 0, 8, 8});
  sample::FastOptions options;
  options.sigma_max = 0.2;  // no estimate leaves [-1,2]
  const auto samples = inpaint_fast({*engine, seeds}, some_images(2), mask, options);
  const auto plain = sample::fast_blind({*engine, seeds}, options);
  EXPECT_TRUE(std::ranges::equal(samples.x.values(), plain.x.values()));
}

// A Gaussian of pictures whose gradient is absurd at some pixels in every third evaluation.
class WildAtTimes : public GaussianEnergy {
 public:
  WildAtTimes() { std::ranges::fill(precision, 80.0); }
  double energy_of(const float* x, float* grad_x) const override {
    const double energy = GaussianEnergy::energy_of(x, grad_x);
    if (++calls_ % 3 == 0)
      for (size_t i = 0; i < kPixels; i += 5) grad_x[i] *= 1e6f;
    return energy;
  }

 private:
  mutable int calls_ = 0;
};

TEST(Restore, SurvivesAModelThatIsWrongAtTimes) {
  WildAtTimes engine;
  const auto seeds = seeds_from(0, 2);
  const image::Mask mask = box_mask(8, {1, 1, 5, 5});
  const auto samples = inpaint_fast({engine, seeds}, some_images(2), mask);
  EXPECT_GT(samples.evaluations[0], 3);
  for (const float value : samples.x.values()) EXPECT_LT(std::abs(value), 3);
}

TEST(Restore, RefusesImagesThatDoNotFit) {
  const auto engine = tiny_network();
  const auto seeds = seeds_from(0, 2);
  const image::Mask mask = box_mask(8, {1, 1, 2, 2});
  EXPECT_THROW(inpaint_fast({*engine, seeds}, some_images(3), mask), Error);
  EXPECT_THROW(inpaint_fast({*engine, seeds}, some_images(2), box_mask(16, {1, 1, 2, 2})), Error);
  EXPECT_THROW(restore({*engine, seeds}, *block_mean_measurement(3), some_images(2)), Error);
  EXPECT_THROW(inpaint_annealed({*engine, seeds}, some_images(2), mask, {}), Error);
}

}  // namespace
}  // namespace mdsm::restore

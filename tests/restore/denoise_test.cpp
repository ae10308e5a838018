#include "restore/denoise.h"

#include <algorithm>
#include <limits>

#include "core/error.h"
#include "sample/moments.h"

namespace mdsm::restore {
namespace {
using namespace test;

TEST(Denoise, OneJumpIsExactOnAGaussian) {
  GaussianEnergy engine(0.3);
  const auto seeds = seeds_from(0, 3);
  const Tensor noisy = sample::start_images(engine.image_shape(), seeds);
  Tensor g(noisy.shape());
  std::vector<float> energy(3);
  engine.energy_and_gradient(noisy, energy, g);
  const auto out = denoise(engine, noisy);
  EXPECT_EQ(out.energy, energy);
  for (int64_t i = 0; i < 3; ++i) {
    double sum = 0;
    for (size_t j = 0; j < kPixels; ++j) {
      const double d = 0.09 * g.view().image(i)[j];
      EXPECT_NEAR(out.x.view().image(i)[j], noisy.view().image(i)[j] - d, 1e-6);
      sum += d * d;
    }
    EXPECT_NEAR(out.sigma[static_cast<size_t>(i)], std::sqrt(sum / kPixels), 1e-6);
  }
}

TEST(Denoise, PartialStepsShrinkTheResidualByTheirShare) {
  GaussianEnergy engine(0.3);
  engine.coupling = 0;
  const auto seeds = seeds_from(0, 1);
  const Tensor noisy = sample::start_images(engine.image_shape(), seeds);
  const auto out = denoise(engine, noisy, {4, 0.25});
  for (size_t j = 0; j < kPixels; ++j) {
    const double k = 0.09 * engine.precision[j];
    const double factor = std::pow(1 - 0.25 * k, 3) * (1 - k);
    EXPECT_NEAR(out.x.data()[j], engine.mean[j] + factor * (noisy.data()[j] - engine.mean[j]), 1e-5);
  }
  EXPECT_THROW(denoise(engine, noisy, {0, 0.5}), Error);
  EXPECT_THROW(denoise(engine, noisy, {2, 0}), Error);
}

TEST(Denoise, StrengthScalesWhatIsRemoved) {
  GaussianEnergy engine(0.3);
  const auto seeds = seeds_from(0, 1);
  const Tensor noisy = sample::start_images(engine.image_shape(), seeds);
  const Tensor whole = denoise(engine, noisy).x, some = denoise(engine, noisy, {1, 0.5, 0.25}).x;
  for (size_t j = 0; j < kPixels; ++j)
    EXPECT_NEAR(some.data()[j], noisy.data()[j] + 0.25 * (whole.data()[j] - noisy.data()[j]), 1e-6);
  EXPECT_EQ(denoise(engine, noisy, {1, 0.5, 0}).x.data()[3], noisy.data()[3]);
  EXPECT_THROW(denoise(engine, noisy, {1, 0.5, 2.1}), Error);
}

TEST(Denoise, PsnrIsMinusTenLogTheMeanSquare) {
  Tensor a({2, 1, 8, 8}, 0.5f), b({2, 1, 8, 8}, 0.5f);
  std::ranges::fill(b.view().image(1), 0.6f);
  const auto values = psnr(a, b);
  EXPECT_EQ(values[0], std::numeric_limits<double>::infinity());
  EXPECT_NEAR(values[1], 20, 1e-4);
  EXPECT_THROW(psnr(a, Tensor({1, 1, 8, 8})), Error);
}

}  // namespace
}  // namespace mdsm::restore

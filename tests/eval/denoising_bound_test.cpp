// The bound against densities that are known, with denoisers that are right: then it is no bound but the
// truth, for every single image.
#include "eval/denoising_bound.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "core/random.h"
#include "eval/list_dataset.h"
#include "sample/analytic_energy.h"

namespace mdsm::test {
namespace {

constexpr double kLow = 0.1, kHigh = 3;

double variance(size_t pixel) { return 0.02 * static_cast<double>(pixel % 7); }  // some pixels never change

ListDataset gaussian_images(int64_t n, uint64_t seed) {
  Tensor x({n, 1, 4, 4});
  RandomStream(seed, Purpose::check).fill_normal(x.values());
  for (size_t i = 0; i < x.values().size(); ++i)
    x.values()[i] = 0.3f + static_cast<float>(std::sqrt(variance(i % 16))) * x.values()[i];
  return ListDataset(std::move(x));
}

void gaussian_denoiser(ConstTensorView noisy, double sigma, TensorView clean) {
  for (size_t i = 0; i < clean.values().size(); ++i) {
    const double v = variance(i % 16);
    clean.values()[i] = static_cast<float>(0.3 + v / (v + sigma * sigma) * (noisy.values()[i] - 0.3));
  }
}

// Mean over the images of E[-log p(x + low n)], known exactly.
double gaussian_truth(const ListDataset& images, double low) {
  double nats = 0;
  for (int64_t i = 0; i < images.size(); ++i)
    for (size_t j = 0; j < 16; ++j) {
      const double v = variance(j) + low * low, y = images.image(i)[j] - 0.3;
      nats += (std::log(2 * std::numbers::pi * v) + (y * y + low * low) / v) / 2;
    }
  return nats / static_cast<double>(images.size());
}

TEST(DenoisingBound, IsTheTruthForAGaussian) {
  const ListDataset images = gaussian_images(2000, 1), others = gaussian_images(2000, 2);
  const eval::GaussianFit fit(others, 400, kHigh);
  const auto found = eval::denoising_bound(gaussian_denoiser, images, fit,
                                           {.low = kLow, .high = kHigh, .nodes = 16, .draws = 32});
  EXPECT_LT(found.bits(found.noise_error), 1e-3);
  EXPECT_LT(found.bits(found.quadrature_error), 1e-3);
  EXPECT_NEAR(found.bits(found.nats.mean), found.bits(gaussian_truth(images, kLow)), 1e-3);
  EXPECT_GT(found.bits(found.tail.mean), 1e-3);  // so it counts
  for (size_t node = 0; node < found.sigma.size(); ++node) {
    double wanted = 0;
    for (size_t j = 0; j < 16; ++j) wanted += variance(j) / (variance(j) + std::pow(found.sigma[node], 2));
    EXPECT_NEAR(found.loss[node].mean, wanted, 5 * found.loss[node].error + 1e-9) << found.sigma[node];
  }
}

TEST(DenoisingBound, IsABoundForAWorseDenoiser) {
  const ListDataset images = gaussian_images(2000, 1);
  const eval::GaussianFit fit(images, 400, kHigh);
  const auto lazy = [](ConstTensorView noisy, double sigma, TensorView clean) {
    gaussian_denoiser(noisy, 1.5 * sigma, clean);
  };
  const auto found = eval::denoising_bound(lazy, images, fit, {.low = kLow, .high = kHigh, .draws = 4});
  EXPECT_GT(found.bits(found.nats.mean), found.bits(gaussian_truth(images, kLow)) + 0.02);
}

// Every pixel is one of two Gaussians, about 0.2 and 0.8.
constexpr double kWidth = 0.1, kLeft = 0.2, kRight = 0.8, kWeight = 0.3;

double share_right(double x, double v) {
  const double a = (1 - kWeight) * std::exp(-std::pow(x - kLeft, 2) / (2 * v));
  const double b = kWeight * std::exp(-std::pow(x - kRight, 2) / (2 * v));
  return b / (a + b);
}

void mixture_denoiser(ConstTensorView noisy, double sigma, TensorView clean) {
  const double v = kWidth * kWidth + sigma * sigma, keep = kWidth * kWidth / v;
  for (size_t i = 0; i < clean.values().size(); ++i) {
    const double x = noisy.values()[i], right = share_right(x, v);
    const double centre = (1 - right) * kLeft + right * kRight;
    clean.values()[i] = static_cast<float>(keep * x + (1 - keep) * centre);
  }
}

// E[-log p(x + low n)] of one pixel, by the trapezoidal rule.
double mixture_truth(double x, double low) {
  const double v = kWidth * kWidth + low * low, step = 0.05;
  double sum = 0;
  for (double n = -8; n <= 8; n += step) {
    const double at = x + low * n;
    const double p = (1 - kWeight) * std::exp(-std::pow(at - kLeft, 2) / (2 * v)) +
                     kWeight * std::exp(-std::pow(at - kRight, 2) / (2 * v));
    sum -= step * std::exp(-n * n / 2) / std::sqrt(2 * std::numbers::pi) *
           std::log(p / std::sqrt(2 * std::numbers::pi * v));
  }
  return sum;
}

TEST(DenoisingBound, IsTheTruthForAMixture) {
  Tensor x({3000, 1, 2, 2});
  RandomStream choice(4, Purpose::check), noise(5, Purpose::check);
  noise.fill_normal(x.values());
  double truth = 0;
  for (float& value : x.values()) {
    value = static_cast<float>((choice.uniform() < kWeight ? kRight : kLeft) + kWidth * value);
    truth += mixture_truth(value, kLow) / 3000;
  }
  const ListDataset images(std::move(x));
  const double high = 10;  // where a Gaussian is as good as the mixture
  const eval::GaussianFit fit(images, 400, high);
  const auto found = eval::denoising_bound(mixture_denoiser, images, fit,
                                           {.low = kLow, .high = high, .nodes = 24, .draws = 64});
  EXPECT_LT(found.bits(found.noise_error), 1e-3);
  EXPECT_NEAR(found.bits(found.nats.mean), found.bits(truth), 1e-3);
}

TEST(DenoisingBound, TailIsTheGaussiansOwn) {
  // The integral up to a higher level, and the closed form above it, do not depend on where they meet.
  const ListDataset images = gaussian_images(200, 3);
  const auto total = [&](double high) {
    const eval::GaussianFit fit(images, 200, high);
    double sum = 0;
    for (int64_t i = 0; i < 200; ++i) sum += fit.tail(images.image(i)) / 200;
    return sum;
  };
  // The mean of the tail over the fitted images is ln det(1 + C/v) / 2.
  const double v = 0.3 * 0.3;
  double wanted = 0;
  for (size_t j = 0; j < 16; ++j) wanted += std::log(1 + variance(j) / v) / 2;
  EXPECT_NEAR(total(0.3) / wanted, 1, 0.05);  // C of 200 images is not quite the true one
  EXPECT_LT(total(30), 0.01 * total(0.3));
}

TEST(DenoisingBound, BatchMakesNoDifference) {
  const ListDataset images = gaussian_images(13, 6);
  const eval::GaussianFit fit(images, 13, kHigh);
  const auto with = [&](int64_t batch) {
    return eval::denoising_bound(gaussian_denoiser, images, fit, {.nodes = 4, .draws = 2, .batch = batch});
  };
  EXPECT_EQ(with(1).per_image, with(13).per_image);
  EXPECT_EQ(with(5).per_image, with(100).per_image);
}

TEST(DenoisingBound, BlindDenoiserIsTheJump) {
  GaussianEnergy model(0.5);
  Tensor x(model.images(2), 0.7f), clean(x.shape()), gradient(x.shape());
  std::vector<float> energy(2);
  model.energy_and_gradient(x, energy, gradient);
  eval::blind_denoiser(model)(x, 123, clean);
  for (size_t i = 0; i < clean.values().size(); ++i)
    EXPECT_FLOAT_EQ(clean.values()[i], 0.7f - 0.25f * gradient.values()[i]);
}

TEST(DenoisingBound, CountsTheBitsOfGreyLevels) {
  // Every pixel is one of four levels, by chance: 2 bits. A denoiser that knows this, with noise far below a
  // grey level at the end, needs no more, and the last step costs nothing.
  Tensor x({1000, 1, 4, 4});
  RandomStream stream(7, Purpose::check);
  for (float& value : x.values()) value = static_cast<float>(85 * stream.below(4)) / 255;
  const ListDataset images(std::move(x));
  const auto denoise = [](ConstTensorView noisy, double sigma, TensorView clean) {
    for (size_t i = 0; i < clean.values().size(); ++i) {
      const double at = noisy.values()[i], nearest = std::clamp(std::round(at * 3), 0.0, 3.0) / 3;
      double sum = 0, weights = 0;
      for (int k = 0; k < 4; ++k) {
        const double far = std::pow(at - k / 3.0, 2) - std::pow(at - nearest, 2);
        const double weight = std::exp(-far / (2 * sigma * sigma));
        sum += weight * k / 3, weights += weight;
      }
      clean.values()[i] = static_cast<float>(sum / weights);
    }
  };
  const eval::GaussianFit fit(images, 400, kHigh);
  const double low = 1.0 / 255;
  const double width = eval::denoising_error(denoise, images, 100, low, 64, 1);
  EXPECT_LT(width, 0.1 / 255);
  const auto found = eval::denoising_bound(
      denoise, images, fit, {.low = low, .high = kHigh, .nodes = 48, .draws = 8, .last_step = width});
  EXPECT_LT(found.bits(found.noise_error), 0.004);
  EXPECT_NEAR(found.bits(found.nats.mean), 2, 4 * found.bits(found.noise_error) + 0.002);
  EXPECT_NEAR(found.bits(found.first.mean), 0, 0.002);  // the share of the uniform part
}

TEST(DenoisingBound, LastStepIsADistributionOverGreyLevels) {
  // With a denoiser that always says 0.3, the costs of all 256 levels must add up to probability 1.
  Tensor x({256, 1, 1, 1});
  for (size_t k = 0; k < 256; ++k) x.values()[k] = static_cast<float>(k) / 255;
  const ListDataset images(std::move(x));
  const eval::GaussianFit fit(images, 256, kHigh);
  const auto blunt = [](ConstTensorView, double, TensorView clean) {
    std::ranges::fill(clean.values(), 0.3f);
  };
  const auto with = [&](std::optional<double> width) {
    return eval::denoising_bound(blunt, images, fit, {.nodes = 2, .draws = 1, .last_step = width});
  };
  const auto clean = with(0.2), density = with(std::nullopt);
  double total = 0;
  for (size_t k = 0; k < 256; ++k)
    total += std::exp(-(clean.per_image[k] - density.per_image[k] + density.first.mean));
  EXPECT_NEAR(total, 1, 1e-6);
}

TEST(DenoisingBound, RefusesNonsense) {
  const ListDataset images = gaussian_images(3, 1);
  const eval::GaussianFit fit(images, 3, kHigh);
  const auto with = [&](eval::BoundOptions options) {
    eval::denoising_bound(gaussian_denoiser, images, fit, options);
  };
  EXPECT_THROW(with({.low = 3, .high = 3}), Error);
  EXPECT_THROW(with({.low = 0, .high = 3}), Error);
  EXPECT_THROW(with({.draws = 0}), Error);
  EXPECT_THROW(with({.nodes = 1}), Error);
}

}  // namespace
}  // namespace mdsm::test

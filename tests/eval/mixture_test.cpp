#include "eval/mixture.h"

#include <gtest/gtest.h>

#include <cmath>
#include <numbers>

#include "core/random.h"
#include "temporary_folder.h"

namespace mdsm::eval {
namespace {

// Two groups in two dimensions: 70 % round at (-3, 0), 30 % at (3, 1) with the coordinates tied together.
FeatureTable two_groups(size_t n) {
  FeatureTable table{2, {}};
  RandomStream stream(1, Purpose::check);
  for (size_t i = 0; i < n; ++i) {
    float z[2];
    const bool right = stream.uniform() < 0.3;
    stream.fill_normal(z);
    if (right)
      table.values.insert(table.values.end(), {3.0 + z[0], 1 + 0.8 * z[0] + 0.3 * z[1]});
    else
      table.values.insert(table.values.end(), {-3 + 0.5 * z[0], 0.5 * z[1]});
  }
  return table;
}

double true_log_density(double x, double y) {
  const double left = -((x + 3) * (x + 3) + y * y) / (2 * 0.25) - std::log(2 * std::numbers::pi * 0.25);
  const double a = x - 3, b = (y - 1 - 0.8 * a) / 0.3;
  const double right = -(a * a + b * b) / 2 - std::log(2 * std::numbers::pi * 0.3);
  return std::log(0.7 * std::exp(left) + 0.3 * std::exp(right));
}

TEST(Mixture, FindsTheDensityThatMadeTheData) {
  const FeatureTable data = two_groups(20000);
  const auto mixture = GaussianMixture::fit(data, {.components = 2});
  const int64_t left = mixture.mean(0)[0] < mixture.mean(1)[0] ? 0 : 1;
  EXPECT_NEAR(mixture.weight(left), 0.7, 0.02);
  EXPECT_NEAR(mixture.mean(left)[0], -3, 0.03);
  EXPECT_NEAR(mixture.mean(1 - left)[1], 1, 0.05);
  for (const auto& [x, y] : {std::pair{-3.0, 0.0}, {3.0, 1.0}, {2.0, 0.4}, {-2.5, 0.6}, {4.0, 1.5}}) {
    const double at[] = {x, y};
    EXPECT_NEAR(mixture.log_density(at), true_log_density(x, y), 0.1) << x << " " << y;
  }
}

TEST(Mixture, LikelihoodNeverFalls) {
  const auto mixture =
      GaussianMixture::fit(two_groups(500), {.components = 4, .tolerance = 1e-12, .floor = 0});
  ASSERT_GT(mixture.history().size(), 5u);
  for (size_t i = 1; i < mixture.history().size(); ++i)
    EXPECT_GE(mixture.history()[i], mixture.history()[i - 1] - 1e-9);
}

// One full Gaussian is the sample mean and covariance; diagonal, it does not see that coordinates are tied.
TEST(Mixture, FullAndDiagonalCovariance) {
  FeatureTable line{2, {}};
  RandomStream stream(2, Purpose::check);
  std::vector<float> z(4000);
  stream.fill_normal(z);
  for (size_t i = 0; i < 2000; ++i)
    line.values.insert(line.values.end(), {z[2 * i], z[2 * i] + 0.1 * z[2 * i + 1]});
  const auto full = GaussianMixture::fit(line, {.components = 1, .covariance = Covariance::full});
  const auto diagonal = GaussianMixture::fit(line, {.components = 1, .covariance = Covariance::diagonal});
  const double on[] = {1, 1}, off[] = {1, -1};
  EXPECT_NEAR(full.log_density(on), -std::log(2 * std::numbers::pi * 0.1) - 0.5, 0.15);
  EXPECT_LT(full.log_density(off), full.log_density(on) - 100);
  EXPECT_NEAR(diagonal.log_density(off), diagonal.log_density(on), 0.2);
}

TEST(Mixture, SurvivesEqualRowsAndRefusesTooFew) {
  FeatureTable same{2, std::vector<double>(40, 1.5)};
  const auto mixture = GaussianMixture::fit(same, {.components = 3});
  const double at[] = {1.5, 1.5}, away[] = {1.5, 2.5};
  EXPECT_TRUE(std::isfinite(mixture.log_density(at)));
  EXPECT_LT(mixture.log_density(away), mixture.log_density(at));
  EXPECT_ERROR(GaussianMixture::fit(FeatureTable{2, {1, 2, 3, 4}}, {.components = 3}), "too few");
  EXPECT_ERROR(GaussianMixture::fit(FeatureTable{1, {1, NAN, 3, 4}}, {.components = 1}), "nan");
}

}  // namespace
}  // namespace mdsm::eval

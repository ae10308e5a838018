#include "eval/auroc.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"
#include "temporary_folder.h"

namespace mdsm::eval {
namespace {

// Every pair, one by one.
double counted(const std::vector<double>& inside, const std::vector<double>& outside) {
  double sum = 0;
  for (const double a : inside)
    for (const double b : outside) sum += b > a ? 1 : b == a ? 0.5 : 0;
  return sum / static_cast<double>(inside.size() * outside.size());
}

std::vector<double> draw(uint64_t seed, size_t n, double shift, double grid) {
  std::vector<float> normal(n);
  RandomStream(seed, Purpose::check).fill_normal(normal);
  std::vector<double> values;
  for (const float value : normal)
    values.push_back(grid > 0 ? std::round((value + shift) / grid) * grid : value + shift);
  return values;
}

TEST(Auroc, EqualsCountingPairs) {
  for (const double grid : {0.0, 0.25, 1.0, 5.0})  // the coarser, the more ties
    for (const auto& [n, m] : {std::pair{1, 1}, {7, 3}, {50, 200}, {300, 41}}) {
      const auto inside = draw(1, static_cast<size_t>(n), 0, grid);
      const auto outside = draw(2, static_cast<size_t>(m), 0.7, grid);
      EXPECT_NEAR(auroc(inside, outside).area, counted(inside, outside), 1e-12) << grid << " " << n;
      EXPECT_NEAR(auroc(outside, inside).area, 1 - counted(inside, outside), 1e-12) << grid << " " << n;
    }
}

TEST(Auroc, KnownValues) {
  const std::vector<double> low{1, 2, 3}, high{4, 5}, same(4, 2.0);
  EXPECT_EQ(auroc(low, high).area, 1);
  EXPECT_EQ(auroc(high, low).area, 0);
  EXPECT_EQ(auroc(same, same).area, 0.5);
  // Two normal distributions a standard deviation apart: Phi(1/sqrt 2).
  const auto result = auroc(draw(3, 20000, 0, 0), draw(4, 20000, 1, 0));
  EXPECT_NEAR(result.area, 0.5 * std::erfc(-0.5), 4 * result.error);
}

// The interval of DeLong against what repeating the experiment gives.
TEST(Auroc, ErrorIsThatOfRepeatedExperiments) {
  constexpr int kRepeats = 400;
  double sum = 0, squares = 0, errors = 0;
  int covered = 0;
  const double truth = 0.5 * std::erfc(-0.5);
  for (int i = 0; i < kRepeats; ++i) {
    const auto seed = static_cast<uint64_t>(10 + 2 * i);
    const auto result = auroc(draw(seed, 80, 0, 0), draw(seed + 1, 120, 1, 0));
    sum += result.area, squares += result.area * result.area, errors += result.error;
    covered += result.low <= truth && truth <= result.high;
  }
  const double mean = sum / kRepeats, sd = std::sqrt(squares / kRepeats - mean * mean);
  EXPECT_NEAR(errors / kRepeats / sd, 1, 0.12);
  EXPECT_GT(covered, 0.91 * kRepeats);
  EXPECT_LT(covered, 0.985 * kRepeats);
}

// DeLong's variance is 0 where every pair is in order; the interval must know how few images say so.
TEST(Auroc, PerfectSeparationIsNotCertainty) {
  for (const size_t n : {size_t{1}, size_t{10}, size_t{1000}}) {
    const auto inside = draw(1, n, 0, 0), outside = draw(2, n + 3, 100, 0);
    const Auroc right = auroc(inside, outside), wrong = auroc(outside, inside);
    EXPECT_EQ(right.area, 1);
    EXPECT_EQ(right.high, 1);
    EXPECT_NEAR(right.low, std::pow(0.025, 1 / static_cast<double>(n)), 1e-12);
    EXPECT_EQ(wrong.area, 0);
    EXPECT_EQ(wrong.low, 0);
    EXPECT_NEAR(wrong.high, 1 - right.low, 1e-12);
    EXPECT_TRUE(std::isnan(right.error) && std::isnan(wrong.error));
  }
}

TEST(Auroc, OneImageHasNoError) {
  const std::vector<double> one{0.1}, many = draw(3, 50, 0, 0), same(4, 2.0);
  for (const Auroc& found : {auroc(one, many), auroc(many, one), auroc(same, same)}) {
    EXPECT_TRUE(std::isnan(found.error));
    EXPECT_TRUE(std::isnan(found.low) && std::isnan(found.high));
  }
}

TEST(Auroc, AreaUnderTheCurveIsTheArea) {
  const auto inside = draw(5, 90, 0, 0.5), outside = draw(6, 70, 0.5, 0.5);
  const auto curve = roc_curve(inside, outside);
  EXPECT_EQ(curve.front().false_alarms, 0);
  EXPECT_EQ(curve.back().found, 1);
  EXPECT_EQ(curve.back().false_alarms, 1);
  double area = 0;
  for (size_t i = 1; i < curve.size(); ++i)
    area += (curve[i].false_alarms - curve[i - 1].false_alarms) * (curve[i].found + curve[i - 1].found) / 2;
  EXPECT_NEAR(area, counted(inside, outside), 1e-12);
}

TEST(Auroc, RefusesWhatHasNoAnswer) {
  const std::vector<double> some{1, 2}, odd{1, NAN};
  EXPECT_ERROR(auroc({}, some), "no scores of ordinary");
  EXPECT_ERROR(auroc(some, {}), "no scores of outlying");
  EXPECT_ERROR(auroc(some, odd), "nan");
}

}  // namespace
}  // namespace mdsm::eval

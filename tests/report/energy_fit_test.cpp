#include "report/energy_fit.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace mdsm::report {
namespace {

// Two samples of 1x8x8 around the energy given for each temperature.
SampleSet cooled(const std::vector<double>& temperatures, const std::vector<double>& energies) {
  SampleSet set;
  set.seeds = {0, 1};
  set.x = Tensor({2, 1, 8, 8});
  set.points = static_cast<int64_t>(temperatures.size());
  set.trace_temperature = temperatures;
  for (int64_t i = 0; i < set.points; ++i) set.trace_steps.push_back(10 * i);
  for (const double offset : {-1.5, 1.5})
    for (const double energy : energies) set.energy_trace.push_back(static_cast<float>(energy + offset));
  return set;
}

TEST(EnergyFit, FindsTheSlopeOfASlowCooling) {
  // The hot phase has not settled and must not count; below T = 1 the line is left.
  const std::vector<double> t = {100, 100, 80, 50, 20, 10, 5, 2, 1, 0.5, 0};
  std::vector<double> energy = {9000, 4000};
  for (size_t i = 2; i < t.size(); ++i) energy.push_back(7 + 32 * t[i] + (t[i] == 0.5 ? 50 : 0));
  const auto fit = fit_energy(cooled(t, energy));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->slope, 32, 1e-3);
  EXPECT_NEAR(fit->r2, 1, 1e-6);
  EXPECT_NEAR(fit->exponent, 1, 1e-4);
  EXPECT_NEAR(fit->end, 7, 1e-4);
  EXPECT_EQ(fit->low, 1);
  EXPECT_EQ(fit->high, 80);
}

TEST(EnergyFit, SaysWhenEnergyIsNotProportional) {
  std::vector<double> t, energy;
  for (double at = 100; at >= 1; at *= 0.8) t.push_back(at), energy.push_back(3 * at * at);
  t.push_back(0), energy.push_back(0);
  const auto fit = fit_energy(cooled(t, energy));
  ASSERT_TRUE(fit);
  EXPECT_NEAR(fit->exponent, 2, 1e-3);
  EXPECT_LT(fit->r2, 0.97);
}

TEST(EnergyFit, NeedsTemperaturesThatFall) {
  EXPECT_FALSE(fit_energy({}));
  EXPECT_FALSE(fit_energy(cooled({1, 1, 1, 1, 1, 1, 1, 0}, {5, 5, 5, 5, 5, 5, 5, 5})));
  EXPECT_FALSE(fit_energy(cooled({0, 0, 0, 0, 0, 0, 0, 0}, {5, 5, 5, 5, 5, 5, 5, 5})));
  EXPECT_TRUE(fit_energy(cooled({6, 5, 4, 3, 2, 1, 0}, {6, 5, 4, 3, 2, 1, 0})));
  EXPECT_FALSE(fit_energy(cooled({4, 3, 2, 1, 0}, {4, 3, 2, 1, 0})));
}

TEST(EnergyFit, LeavesOutSamplesThatHaveFinished) {
  SampleSet set = cooled({6, 5, 4, 3, 2, 1, 0}, {60, 50, 40, 30, 20, 10, 0});
  set.energy_trace[0] = set.energy_trace[1] = std::numeric_limits<float>::quiet_NaN();
  const auto fit = fit_energy(set);
  ASSERT_TRUE(fit);
  EXPECT_TRUE(std::isfinite(fit->slope));
  const std::string plot = energy_plot(set, *fit, "cooling");
  EXPECT_NE(plot.find("pixels/2 = 32"), std::string::npos);
  EXPECT_EQ(plot.find("nan"), std::string::npos);
}

}  // namespace
}  // namespace mdsm::report

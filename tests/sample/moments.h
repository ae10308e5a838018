// The moments of GaussianEnergy's first pixels that sampler tests compare, within 5 standard errors of the
// mean (variance / effective sample size). Five: with a few dozen comparisons a false alarm is one in 10,000.
#pragma once

#include <gtest/gtest.h>

#include "analytic_energy.h"

namespace mdsm::test {

inline std::vector<Statistics::Function> gaussian_functions(const GaussianEnergy& e) {
  const double m0 = e.mean[0], m1 = e.mean[1], m63 = e.mean[63];
  return {[=](auto x) { return x[0] - m0; }, [=](auto x) { return x[63] - m63; },
          [=](auto x) { return (x[0] - m0) * (x[0] - m0); },
          [=](auto x) { return (x[1] - m1) * (x[1] - m1); },
          [=](auto x) { return (x[0] - m0) * (x[1] - m1); }};
}

inline void expect_near(const sample::ChainDiagnostics& d, double wanted, const char* what) {
  EXPECT_NEAR(d.mean, wanted, 5 * d.standard_error()) << what;
  EXPECT_LT(d.standard_error(), 0.05) << what << ": too few draws to tell";
  EXPECT_LT(d.r_hat, 1.1) << what;
}

inline void expect_gaussian(const Statistics& s, const GaussianEnergy::Pair& covariance) {
  expect_near(s.of(0), 0, "mean of pixel 0");
  expect_near(s.of(1), 0, "mean of pixel 63");
  expect_near(s.of(2), covariance.v00, "variance of pixel 0");
  expect_near(s.of(3), covariance.v11, "variance of pixel 1");
  expect_near(s.of(4), covariance.v01, "covariance of pixels 0 and 1");
}

}  // namespace mdsm::test

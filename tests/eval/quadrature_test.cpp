#include "eval/quadrature.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace mdsm::eval {
namespace {

double sum(const Quadrature& rule, const std::vector<double>& weights, double power) {
  double total = 0;
  for (size_t i = 0; i < rule.nodes.size(); ++i) total += weights[i] * std::pow(rule.nodes[i], power);
  return total;
}

TEST(Quadrature, IsExactForPolynomials) {
  for (const int64_t n : {2, 3, 8, 21}) {
    const Quadrature rule = gauss_legendre(n, 0.5, 2);
    for (int64_t power = 0; power < 2 * n; ++power) {
      const double k = static_cast<double>(power) + 1;
      const double wanted = (std::pow(2, k) - std::pow(0.5, k)) / k;
      EXPECT_NEAR(sum(rule, rule.weights, k - 1) / wanted, 1, 1e-12) << n << " nodes, power " << power;
      if (power < (n + 1) / 2) {
        EXPECT_NEAR(sum(rule, rule.coarse, k - 1) / wanted, 1, 1e-11) << n << " nodes, power " << power;
      }
    }
    // One power more, and the coarse rule is wrong by more than the fine one.
    const double k = 2 * static_cast<double>(n) + 1, wanted = (std::pow(2, k) - std::pow(0.5, k)) / k;
    EXPECT_GT(std::abs(sum(rule, rule.coarse, k - 1) - wanted),
              std::abs(sum(rule, rule.weights, k - 1) - wanted));
  }
}

TEST(Quadrature, RefusesNonsense) {
  EXPECT_THROW(gauss_legendre(1, 0, 1), Error);
  EXPECT_THROW(gauss_legendre(1001, 0, 1), Error);
  EXPECT_NO_THROW(gauss_legendre(200, 0, 1));
}

}  // namespace
}  // namespace mdsm::eval

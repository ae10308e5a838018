#include "eval/quadrature.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"

namespace mdsm::eval {
namespace {

struct Legendre {
  double value, slope;
};

// P_n and its derivative at t, by the recurrence of three terms.
Legendre legendre(int64_t n, double t) {
  double before = 1, value = t;
  for (int64_t k = 2; k <= n; ++k) {
    const double a = static_cast<double>(k);
    before = std::exchange(value, ((2 * a - 1) * t * value - (a - 1) * before) / a);
  }
  return {value, static_cast<double>(n) * (t * value - before) / (t * t - 1)};
}

// The zero of P_n near its asymptotic place; Newton's steps double the digits.
double zero(int64_t n, int64_t i) {
  double t = -std::cos(std::numbers::pi * (static_cast<double>(i) + 0.75) / (static_cast<double>(n) + 0.5));
  for (int step = 0; step < 10; ++step) {
    const Legendre p = legendre(n, t);
    t -= p.value / p.slope;
  }
  return t;
}

// The integral of the polynomial that is 1 at node `one` and 0 at the other even ones: the full rule is exact
// for it.
double coarse_weight(const Quadrature& rule, size_t one) {
  double sum = 0;
  for (size_t i = 0; i < rule.nodes.size(); ++i) {
    double value = rule.weights[i];
    for (size_t k = 0; k < rule.nodes.size(); k += 2)
      if (k != one) value *= (rule.nodes[i] - rule.nodes[k]) / (rule.nodes[one] - rule.nodes[k]);
    sum += value;
  }
  return sum;
}

}  // namespace

Quadrature gauss_legendre(int64_t n, double from, double to) {
  if (n < 2 || n > 1000) fail_usage("use 2 to 1000", "{} quadrature nodes", n);
  Quadrature rule;
  const double half = (to - from) / 2;
  for (int64_t i = 0; i < n; ++i) {
    const double t = zero(n, i), slope = legendre(n, t).slope;
    rule.nodes.push_back(from + half * (1 + t));
    rule.weights.push_back(half * 2 / ((1 - t * t) * slope * slope));
  }
  rule.coarse.assign(rule.nodes.size(), 0);
  for (size_t one = 0; one < rule.nodes.size(); one += 2) rule.coarse[one] = coarse_weight(rule, one);
  return rule;
}

}  // namespace mdsm::eval

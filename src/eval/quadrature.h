// Gauss-Legendre quadrature on an interval, with a coarser rule on some of the same nodes to judge it by.
#pragma once

#include <cstdint>
#include <vector>

namespace mdsm::eval {

struct Quadrature {
  std::vector<double> nodes, weights;  // smallest node first
  // Of the rule that has every other node only. It is right for polynomials of half the degree or less, so
  // the difference of both sums is larger than the error of the finer one.
  std::vector<double> coarse;
};

// Throws when n is not in 2 to 1000.
Quadrature gauss_legendre(int64_t n, double from, double to);

}  // namespace mdsm::eval

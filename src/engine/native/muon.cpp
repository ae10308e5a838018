#include "engine/native/muon.h"

#include <algorithm>
#include <cmath>
#include <utility>
#include <vector>

#include "engine/trainable_energy.h"
#include "linalg/gemm.h"

namespace mdsm::engine::native {
namespace {

using linalg::Factor;
using Square = std::vector<float>;  // (d x d)

Square product(const Square& a, const Square& b, int64_t d) {
  Square c(a.size());
  linalg::multiply(d, d, d, Factor<float>{a.data(), d}, Factor<float>{b.data(), d}, c.data(), d);
  return c;
}

// p = a + b g + c g²
Square polynomial(const Square& g, int64_t d) {
  Square p = product(g, g, d);
  for (size_t i = 0; i < p.size(); ++i)
    p[i] = static_cast<float>(kNewtonSchulz[1]) * g[i] + static_cast<float>(kNewtonSchulz[2]) * p[i];
  for (int64_t i = 0; i < d; ++i) p[static_cast<size_t>(i * d + i)] += static_cast<float>(kNewtonSchulz[0]);
  return p;
}

}  // namespace

// A round is x <- p x with p a polynomial of g = x xᵀ. All rounds' p have the same eigenvectors, so that they
// are multiplied with each other first, in the smaller of the two dimensions, and with x once.
void orthogonalise(int64_t rows, int64_t columns, float* u) {
  const bool wide = rows <= columns;
  const int64_t d = wide ? rows : columns, other = wide ? columns : rows, count = rows * columns;
  double squares = 0;
  for (int64_t i = 0; i < count; ++i) squares += static_cast<double>(u[i]) * u[i];
  if (squares == 0) return;
  const auto scale = static_cast<float>(1 / std::sqrt(squares));
  for (int64_t i = 0; i < count; ++i) u[i] *= scale;

  Square g(static_cast<size_t>(d * d));
  const Factor<float> plain{u, columns}, transposed{u, columns, linalg::Op::transposed};
  linalg::multiply(d, d, other, wide ? plain : transposed, wide ? transposed : plain, g.data(), d);
  Square all;
  for (int round = 0; round < kNewtonSchulzRounds; ++round) {
    const Square p = polynomial(g, d);
    all = round == 0 ? p : product(p, all, d);
    if (round + 1 < kNewtonSchulzRounds) g = product(p, product(p, g, d), d);
  }
  const std::vector<float> x(u, u + count);
  const Factor<float> left{all.data(), d}, right{x.data(), columns};
  if (wide)
    linalg::multiply(rows, columns, d, left, right, u, columns);
  else
    linalg::multiply(rows, columns, d, right, left, u, columns);
}

void muon(const MuonNumbers& a, int64_t rows, int64_t columns, const float* gradient, float* weights,
          float* m, float* ema) {
  const int64_t count = rows * columns;
  const float keep = 1.0f - a.beta, keep_ema = 1.0f - a.ema;
  std::vector<float> u(static_cast<size_t>(count));
  for (int64_t i = 0; i < count; ++i) {
    const float g = keep * a.gradient_scale * gradient[i];
    m[i] = a.beta * m[i] + g;
    u[static_cast<size_t>(i)] = a.beta * m[i] + g;  // a step ahead, after Nesterov
  }
  orthogonalise(rows, columns, u.data());
  const auto rate = static_cast<float>(a.lr * muon_scale(rows, columns));
  for (int64_t i = 0; i < count; ++i) {
    weights[i] -= rate * u[static_cast<size_t>(i)];
    ema[i] = a.ema * ema[i] + keep_ema * weights[i];
  }
}

}  // namespace mdsm::engine::native

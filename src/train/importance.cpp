#include "train/importance.h"

#include <algorithm>
#include <cmath>

#include "core/log_sum.h"
#include "core/threads.h"

namespace mdsm::train {
namespace {

constexpr double kNegligible = 40;  // e^-40 of a sum cannot be seen in a double

double squared_distance(std::span<const float> a, std::span<const float> b) {
  double lanes[8] = {};
  const size_t whole = a.size() / 8 * 8;
  for (size_t i = 0; i < whole; i += 8)
    for (size_t l = 0; l < 8; ++l) {
      const double d = static_cast<double>(a[i + l]) - static_cast<double>(b[i + l]);
      lanes[l] += d * d;
    }
  double sum = 0;
  for (const double lane : lanes) sum += lane;
  for (size_t i = whole; i < a.size(); ++i)
    sum += std::pow(static_cast<double>(a[i]) - static_cast<double>(b[i]), 2);
  return sum;
}

// log of the posterior of candidate i, from the log likelihoods of all.
double log_posterior(std::span<const double> log_likelihood, size_t i) {
  return log_likelihood[i] - log_sum_exp(log_likelihood);
}

}  // namespace

double log_mixture(double squared_distance, double dimensions, std::span<const float> levels) {
  const auto term = [&](size_t l) {
    const auto sigma = static_cast<double>(levels[l]);
    return -dimensions * std::log(sigma) - squared_distance / (2 * sigma * sigma);
  };
  // As a function of sigma a term rises up to sigma = distance / sqrt(dimensions) and falls after it, so the
  // terms that count are neighbours.
  const auto peak =
      std::ranges::lower_bound(levels, static_cast<float>(std::sqrt(squared_distance / dimensions)));
  const auto above = static_cast<size_t>(peak - levels.begin());
  double largest = above < levels.size() ? term(above) : term(above - 1);
  if (above > 0) largest = std::max(largest, term(above - 1));
  double sum = 0;
  const auto add = [&](size_t l) {
    const double t = term(l) - largest;
    sum += std::exp(t);
    return t > -kNegligible;
  };
  for (size_t l = above; l < levels.size() && add(l);) ++l;
  for (size_t l = above; l > 0 && add(l - 1);) --l;
  return largest + std::log(sum / static_cast<double>(levels.size()));
}

std::vector<double> importance_weights(ConstTensorView clean, ConstTensorView noisy,
                                       std::span<const float> levels, double sigma0) {
  const auto n = static_cast<size_t>(clean.shape.n);
  const auto dimensions = static_cast<double>(clean.shape.per_image());
  std::vector<double> weights(n);
  parallel_for(clean.shape.n, 1, [&](int64_t begin, int64_t end) {
    std::vector<double> kernel(n), mixture(n);  // log q(x~|x_j) of every candidate
    for (int64_t i = begin; i < end; ++i) {
      for (size_t j = 0; j < n; ++j) {
        const double d = squared_distance(noisy.image(i), clean.image(static_cast<int64_t>(j)));
        kernel[j] = -d / (2 * sigma0 * sigma0);
        mixture[j] = log_mixture(d, dimensions, levels);
      }
      const auto own = static_cast<size_t>(i);
      weights[own] = std::exp(log_posterior(kernel, own) - log_posterior(mixture, own));
    }
  });
  double sum = 0;
  for (const double w : weights) sum += w;
  if (sum > 0)
    for (double& w : weights) w *= static_cast<double>(n) / sum;
  return weights;
}

double effective_share(std::span<const double> weights) {
  double sum = 0, squares = 0;
  for (const double w : weights) {
    sum += w;
    squares += w * w;
  }
  return squares > 0 ? sum * sum / (squares * static_cast<double>(weights.size())) : 0;
}

}  // namespace mdsm::train

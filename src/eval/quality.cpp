#include "eval/quality.h"

#include <algorithm>
#include <cmath>

#include "core/binomial.h"
#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"
#include "eval/mean.h"
#include "linalg/gemm.h"

namespace mdsm::eval {
namespace {

constexpr int64_t kBlockRows = 512;  // of a block of images

// The features in float64, n x d.
linalg::Matrix doubles(const FeatureSet& set) { return {set.features.begin(), set.features.end()}; }

void check_pair(int64_t a, int64_t b) {
  if (a != b) fail("use the same features for both", "features of {} and of {} dimensions", a, b);
}

Estimate estimate_of(const std::vector<double>& parts, int64_t size) {
  const Mean mean = mean_of(parts);
  return {mean.mean, mean.std, mean.error, mean.n, size};
}

// Rows of a softmax, not of logarithms or of something else.
void check_probabilities(const FeatureSet& set) {
  const auto classes = static_cast<size_t>(set.classes);
  for (size_t i = 0; i < static_cast<size_t>(set.n); ++i) {
    double sum = 0, lowest = 0;
    for (size_t c = 0; c < classes; ++c) {
      const double p = static_cast<double>(set.probabilities[i * classes + c]);
      sum += p;
      if (!(p >= lowest)) lowest = p;
    }
    if (!(lowest >= 0) || !(std::abs(sum - 1) <= 1e-3))
      fail("the network must end with a softmax",
           "the class probabilities of image {} are none: the lowest is {:g}, their sum {:g}", i, lowest,
           sum);
  }
}

}  // namespace

FeatureStatistics statistics_of(const FeatureSet& set) {
  const int64_t d = set.dimensions;
  if (set.n < 2) fail("use more images", "statistics of {} image(s)", set.n);
  if (find_non_finite(set.features) >= 0) fail("check the feature network", "a feature is not finite");
  FeatureStatistics found{set.n, std::vector<double>(static_cast<size_t>(d)), {}};
  linalg::Matrix x = doubles(set);
  for (int64_t i = 0; i < set.n; ++i)
    for (int64_t j = 0; j < d; ++j) found.mu[static_cast<size_t>(j)] += x[static_cast<size_t>(i * d + j)];
  for (double& value : found.mu) value /= static_cast<double>(set.n);
  for (int64_t i = 0; i < set.n; ++i)
    for (int64_t j = 0; j < d; ++j) x[static_cast<size_t>(i * d + j)] -= found.mu[static_cast<size_t>(j)];
  found.sigma.resize(static_cast<size_t>(d * d));
  linalg::parallel_multiply(d, d, set.n, {x.data(), d, linalg::Op::transposed}, {x.data(), d},
                            found.sigma.data(), d);
  for (double& value : found.sigma) value /= static_cast<double>(set.n - 1);
  return found;
}

double frechet_distance(const FeatureStatistics& a, const FeatureStatistics& b) {
  const int64_t d = a.dimensions();
  check_pair(d, b.dimensions());
  double distance = 0;
  for (int64_t i = 0; i < d; ++i) {
    const double apart = a.mu[static_cast<size_t>(i)] - b.mu[static_cast<size_t>(i)];
    const auto diagonal = static_cast<size_t>(i * d + i);
    distance += apart * apart + a.sigma[diagonal] + b.sigma[diagonal];
  }
  return distance - 2 * linalg::trace_of_product_root(a.sigma, b.sigma, d);
}

Estimate inception_score(const FeatureSet& set, int64_t splits) {
  if (set.classes < 2) fail("use a classifier", "the feature network gives no class probabilities");
  check_probabilities(set);
  if (set.n < splits) fail(fmt::format("use at most {}", set.n), "{} splits of {} images", splits, set.n);
  const auto classes = static_cast<size_t>(set.classes);
  std::vector<double> scores;
  for (int64_t split = 0; split < splits; ++split) {
    const int64_t begin = split * set.n / splits, end = (split + 1) * set.n / splits;
    std::vector<double> mean(classes);
    const auto p = [&](int64_t i, size_t c) {
      return static_cast<double>(set.probabilities[static_cast<size_t>(i) * classes + c]);
    };
    for (int64_t i = begin; i < end; ++i)
      for (size_t c = 0; c < classes; ++c) mean[c] += p(i, c) / static_cast<double>(end - begin);
    double divergence = 0;
    for (int64_t i = begin; i < end; ++i)
      for (size_t c = 0; c < classes; ++c)  // 0 log 0 = 0
        if (p(i, c) > 0) divergence += p(i, c) * (std::log(p(i, c)) - std::log(mean[c]));
    scores.push_back(std::exp(divergence / static_cast<double>(end - begin)));
  }
  return estimate_of(scores, set.n / splits);
}

namespace {

// The chosen rows, one after the other.
linalg::Matrix rows_of(const FeatureSet& set, std::span<const uint32_t> chosen) {
  linalg::Matrix rows;
  rows.reserve(chosen.size() * static_cast<size_t>(set.dimensions));
  for (const uint32_t row : chosen) {
    const auto first = set.features.begin() + static_cast<int64_t>(row) * set.dimensions;
    rows.insert(rows.end(), first, first + set.dimensions);
  }
  return rows;
}

// Sum of the kernel over all pairs of rows; without those of a row with itself when x and y are the same.
double kernel_sum(const linalg::Matrix& x, const linalg::Matrix& y, int64_t n, int64_t d, bool same) {
  linalg::Matrix products(static_cast<size_t>(n * n));
  linalg::parallel_multiply(n, n, d, {x.data(), d}, {y.data(), d, linalg::Op::transposed}, products.data(),
                            n);
  double sum = 0;
  for (int64_t i = 0; i < n; ++i) {
    double row = 0;
    for (int64_t j = 0; j < n; ++j) {
      if (same && i == j) continue;
      const double base = products[static_cast<size_t>(i * n + j)] / static_cast<double>(d) + 1;
      row += base * base * base;
    }
    sum += row;
  }
  return sum;
}

}  // namespace

Estimate kernel_distance(const FeatureSet& a, const FeatureSet& b, int64_t subsets, int64_t size,
                         uint64_t seed) {
  check_pair(a.dimensions, b.dimensions);
  if (size < 2 || size > std::min(a.n, b.n))
    fail(fmt::format("use 2 to {}", std::min(a.n, b.n)), "subsets of {} images", size);
  std::vector<double> found;
  for (int64_t subset = 0; subset < subsets; ++subset) {
    const auto choose = [&](const FeatureSet& set, uint64_t side) {
      auto order = permutation(RandomStream(seed, Purpose::shuffle, 2 * static_cast<uint64_t>(subset) + side),
                               static_cast<uint32_t>(set.n));
      order.resize(static_cast<size_t>(size));
      return rows_of(set, order);
    };
    const linalg::Matrix x = choose(a, 0), y = choose(b, 1);
    const auto n = static_cast<double>(size);
    const int64_t d = a.dimensions;
    found.push_back((kernel_sum(x, x, size, d, true) + kernel_sum(y, y, size, d, true)) / (n * (n - 1)) -
                    2 * kernel_sum(x, y, size, d, false) / (n * n));
  }
  return estimate_of(found, size);
}

namespace {

std::vector<double> squared_norms(const linalg::Matrix& x, int64_t n, int64_t d) {
  std::vector<double> norms(static_cast<size_t>(n));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t j = 0; j < d; ++j)
      norms[static_cast<size_t>(i)] += x[static_cast<size_t>(i * d + j)] * x[static_cast<size_t>(i * d + j)];
  return norms;
}

struct Points {
  linalg::Matrix x;
  int64_t n, d;
  std::vector<double> norm;
  explicit Points(const FeatureSet& set)
      : x(doubles(set)), n(set.n), d(set.dimensions), norm(squared_norms(x, n, d)) {}
};

// Calls body(i, squared distances of a's row i to all rows of b).
template <class Body>
void for_each_row(const Points& a, const Points& b, const Body& body) {
  const int64_t blocks = (a.n + kBlockRows - 1) / kBlockRows;
  parallel_for(blocks, 1, [&](int64_t begin, int64_t end) {
    linalg::Matrix block(static_cast<size_t>(std::min(kBlockRows, a.n) * b.n));
    for (int64_t first = begin * kBlockRows; first < std::min(end * kBlockRows, a.n); first += kBlockRows) {
      const int64_t rows = std::min(kBlockRows, a.n - first);
      multiply(rows, b.n, a.d, linalg::Factor<double>{a.x.data() + first * a.d, a.d},
               linalg::Factor<double>{b.x.data(), b.d, linalg::Op::transposed}, block.data(), b.n);
      for (int64_t i = 0; i < rows; ++i) {
        const std::span row(block.data() + i * b.n, static_cast<size_t>(b.n));
        for (size_t j = 0; j < row.size(); ++j)
          row[j] = std::max(0.0, a.norm[static_cast<size_t>(first + i)] + b.norm[j] - 2 * row[j]);
        body(first + i, row);
      }
    }
  });
}

// Squared distance of every point to its k-th neighbour among the others.
std::vector<double> radii(const Points& points, int64_t k) {
  std::vector<double> found(static_cast<size_t>(points.n));
  for_each_row(points, points, [&](int64_t i, std::span<double> row) {
    row[static_cast<size_t>(i)] = -1;  // itself comes first
    std::nth_element(row.begin(), row.begin() + k, row.end());
    found[static_cast<size_t>(i)] = row[static_cast<size_t>(k)];
  });
  return found;
}

double share_inside(const Points& asked, const Points& centres, const std::vector<double>& radius) {
  std::vector<char> inside(static_cast<size_t>(asked.n));
  for_each_row(asked, centres, [&](int64_t i, std::span<double> row) {
    for (size_t j = 0; j < row.size() && !inside[static_cast<size_t>(i)]; ++j)
      inside[static_cast<size_t>(i)] = row[j] <= radius[j];
  });
  return static_cast<double>(std::ranges::count(inside, 1)) / static_cast<double>(asked.n);
}

}  // namespace

Manifolds precision_recall(const FeatureSet& real, const FeatureSet& generated, int64_t k) {
  check_pair(real.dimensions, generated.dimensions);
  if (k < 1 || k >= std::min(real.n, generated.n))
    fail("use more images or a smaller k", "neighbour {} among {} images", k, std::min(real.n, generated.n));
  const Points a(real), b(generated);
  Manifolds found{.k = k, .real = real.n, .generated = generated.n};
  found.precision = share_inside(b, a, radii(a, k));
  found.recall = share_inside(a, b, radii(b, k));
  const auto error = [](double p, int64_t n) {
    return binomial_error(std::llround(p * static_cast<double>(n)), n);
  };
  found.precision_error = error(found.precision, b.n);
  found.recall_error = error(found.recall, a.n);
  return found;
}

}  // namespace mdsm::eval

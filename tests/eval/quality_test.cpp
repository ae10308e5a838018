#include "eval/quality.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/random.h"
#include "eval/metric.h"
#include "io/npy.h"
#include "io/zip.h"
#include "temporary_folder.h"

namespace mdsm::eval {
namespace {

FeatureSet drawn(int64_t n, int64_t d, uint64_t index, float scale = 1, float shift = 0) {
  FeatureSet set{n, d, 0, std::vector<float>(static_cast<size_t>(n * d)), {}};
  RandomStream(1, Purpose::check, index).fill_normal(set.features);
  for (float& value : set.features) value = scale * value + shift;
  return set;
}

// Diagonal covariances: the distance is the sum of (m1 - m2)^2 + (s1 - s2)^2.
TEST(Quality, FrechetDistanceOfKnownGaussians) {
  FeatureStatistics a{100, {1, 2, 3}, {4, 0, 0, 0, 9, 0, 0, 0, 0}},
      b{100, {1, 0, 3}, {1, 0, 0, 0, 9, 0, 0, 0, 4}};
  EXPECT_NEAR(frechet_distance(a, b), 4 + 1 + 4, 1e-12);
  EXPECT_NEAR(frechet_distance(a, a), 0, 1e-12);
  b.mu.pop_back();
  EXPECT_THROW(frechet_distance(a, b), Error);
}

TEST(Quality, FrechetDistanceOfSamplesApproachesTheTruth) {
  const auto a = statistics_of(drawn(20000, 8, 1)), b = statistics_of(drawn(20000, 8, 2, 2, 0.5f));
  EXPECT_NEAR(frechet_distance(a, b), 8 * (0.25 + 1), 0.2);
}

TEST(Quality, StatisticsDivideByNMinusOne) {
  const FeatureSet set{3, 2, 0, {0, 1, 3, 5, 6, 3}, {}};
  const auto found = statistics_of(set);
  EXPECT_EQ(found.mu, (std::vector<double>{3, 3}));
  EXPECT_EQ(found.sigma, (linalg::Matrix{9, 3, 3, 4}));
  EXPECT_THROW(statistics_of({1, 2, 0, {0, 1}, {}}), Error);
  EXPECT_THROW(statistics_of({2, 1, 0, {0, NAN}, {}}), Error);
}

TEST(Quality, InceptionScoreOfExtremes) {
  const FeatureSet certain{6, 0, 3, {}, {1, 0, 0, 0, 1, 0, 0, 0, 1, 1, 0, 0, 0, 1, 0, 0, 0, 1}};
  EXPECT_NEAR(inception_score(certain, 2).value, 3, 1e-12);
  EXPECT_NEAR(inception_score(certain, 2).standard_error, 0, 1e-12);
  const FeatureSet alike{4, 0, 2, {}, {0.3f, 0.7f, 0.3f, 0.7f, 0.3f, 0.7f, 0.3f, 0.7f}};
  EXPECT_NEAR(inception_score(alike, 1).value, 1, 1e-12);
  EXPECT_THROW(inception_score(certain, 7), Error);
  const FeatureSet logs{2, 0, 2, {}, {-0.1f, -2.3f, -0.7f, -0.7f}}, scores{2, 0, 2, {}, {3, 1, 2, 2}},
      odd{2, 0, 2, {}, {0.5f, 0.5f, NAN, 1}};
  EXPECT_ERROR(inception_score(logs, 1), "class probabilities of image 0 are none: the lowest is -2.3");
  EXPECT_ERROR(inception_score(scores, 1), "their sum 4");
  EXPECT_ERROR(inception_score(odd, 1), "image 1");
  EXPECT_THROW(inception_score(drawn(4, 2, 1), 1), Error);
}

// With all images in one subset: the definition written out.
TEST(Quality, KernelDistanceAgreesWithItsDefinition) {
  const FeatureSet a = drawn(30, 5, 1), b = drawn(30, 5, 2, 1.5f, 0.2f);
  const auto kernel = [&](const FeatureSet& x, int64_t i, const FeatureSet& y, int64_t j) {
    double sum = 0;
    for (int64_t k = 0; k < 5; ++k)
      sum += static_cast<double>(x.features[static_cast<size_t>(i * 5 + k)]) *
             static_cast<double>(y.features[static_cast<size_t>(j * 5 + k)]);
    return std::pow(sum / 5 + 1, 3);
  };
  double same = 0, cross = 0;
  for (int64_t i = 0; i < 30; ++i)
    for (int64_t j = 0; j < 30; ++j) {
      if (i != j) same += kernel(a, i, a, j) + kernel(b, i, b, j);
      cross += kernel(a, i, b, j);
    }
  const Estimate found = kernel_distance(a, b, 2, 30, 7);
  EXPECT_NEAR(found.value, same / (30 * 29) - 2 * cross / 900, 1e-11);
  EXPECT_NEAR(found.deviation, 0, 1e-11);
}

// Unbiased: two sets of one distribution give 0 within a few standard errors of disjoint draws.
TEST(Quality, KernelDistanceOfOneDistributionIsNearZero) {
  const Estimate same = kernel_distance(drawn(2000, 6, 1), drawn(2000, 6, 2), 40, 50, 3);
  const Estimate other = kernel_distance(drawn(2000, 6, 1), drawn(2000, 6, 2, 1, 0.5f), 40, 50, 3);
  EXPECT_LT(std::abs(same.value), 4 * same.standard_error);
  EXPECT_GT(other.value, 4 * other.standard_error);
  EXPECT_THROW(kernel_distance(drawn(10, 2, 1), drawn(5, 2, 1), 1, 6, 0), Error);
}

Manifolds counted(const FeatureSet& real, const FeatureSet& generated, size_t k) {
  const auto distance = [](const FeatureSet& x, int64_t i, const FeatureSet& y, int64_t j) {
    double sum = 0;
    for (int64_t c = 0; c < x.dimensions; ++c)
      sum += std::pow(static_cast<double>(x.features[static_cast<size_t>(i * x.dimensions + c)]) -
                          static_cast<double>(y.features[static_cast<size_t>(j * x.dimensions + c)]),
                      2);
    return sum;
  };
  const auto share = [&](const FeatureSet& asked, const FeatureSet& centres) {
    double inside = 0;
    for (int64_t i = 0; i < asked.n; ++i) {
      bool found = false;
      for (int64_t j = 0; j < centres.n && !found; ++j) {
        std::vector<double> others;
        for (int64_t l = 0; l < centres.n; ++l)
          if (l != j) others.push_back(distance(centres, j, centres, l));
        std::ranges::sort(others);
        found = distance(asked, i, centres, j) <= others[k - 1];
      }
      inside += found;
    }
    return inside / static_cast<double>(asked.n);
  };
  return {.precision = share(generated, real), .recall = share(real, generated)};
}

TEST(Quality, PrecisionAndRecallAgreeWithCounting) {
  const FeatureSet real = drawn(60, 3, 1), generated = drawn(45, 3, 2, 0.6f, 0.5f);
  const Manifolds found = precision_recall(real, generated, 3), wanted = counted(real, generated, 3);
  EXPECT_DOUBLE_EQ(found.precision, wanted.precision);
  EXPECT_DOUBLE_EQ(found.recall, wanted.recall);
  EXPECT_NE(found.precision, found.recall);
  EXPECT_THROW(precision_recall(real, generated, 45), Error);
}

TEST(Quality, PrecisionAndRecallOverSeveralBlocks) {
  const FeatureSet set = drawn(1100, 4, 1), far = drawn(700, 4, 2, 1, 50);
  EXPECT_EQ(precision_recall(set, set, 3).precision, 1);
  EXPECT_EQ(precision_recall(set, far, 3).precision, 0);
  EXPECT_EQ(precision_recall(set, far, 3).recall, 0);
  EXPECT_NEAR(precision_recall(set, far, 3).precision_error, std::sqrt(1 / 702.0 * (701 / 702.0) / 700),
              1e-12);
  EXPECT_NEAR(precision_recall(set, set, 3).recall_error, std::sqrt(1 / 1102.0 * (1101 / 1102.0) / 1100),
              1e-12);
}

TEST(Quality, StatisticsSurviveTheirFile) {
  const TemporaryFolder folder;
  const FeatureStatistics made = statistics_of(drawn(50, 7, 1));
  write_statistics(folder.path() / "s.npz", made);
  const FeatureStatistics read = read_statistics(folder.path() / "s.npz");
  EXPECT_EQ(read.n, 50);
  EXPECT_EQ(read.mu, made.mu);
  EXPECT_EQ(read.sigma, made.sigma);
  write_file(folder.path() / "text.npz", std::string_view("no archive"));
  EXPECT_THROW(read_statistics(folder.path() / "text.npz"), Error);
  EXPECT_THROW(read_statistics(folder.path() / "absent.npz"), Error);
}

void put_statistics(const fs::path& path, const linalg::Matrix& sigma) {
  write_statistics(path, {9, std::vector<double>(2, 0.5), sigma});
}

TEST(Quality, RefusesWhatIsNoCovariance) {
  const TemporaryFolder folder;
  const fs::path file = folder / "s.npz";
  put_statistics(file, {4, 1, 1, 9});
  EXPECT_EQ(read_statistics(file).sigma, (linalg::Matrix{4, 1, 1, 9}));
  put_statistics(file, {-4, -1, -1, -9});
  EXPECT_ERROR(read_statistics(file), "sigma is no covariance: entry (0, 0) is -4");
  put_statistics(file, {4, 1, 1.1, 9});
  EXPECT_ERROR(read_statistics(file), "sigma is not symmetric");
  put_statistics(file, {4, 1, 1 + 1e-9, 9});
  EXPECT_EQ(read_statistics(file).n, 9);
  put_statistics(file, {4, NAN, NAN, 9});
  EXPECT_ERROR(read_statistics(file), "sigma holds the value nan");
  // Symmetric, with good variances, but with a correlation of 2.
  const FeatureStatistics good{9, {0, 0}, {1, 0, 0, 1}}, odd{9, {0, 0}, {1, 2, 2, 1}};
  EXPECT_ERROR(frechet_distance(good, odd), "no covariance");
  EXPECT_ERROR(frechet_distance(odd, good), "no covariance");
}

TEST(Quality, DamagedStatisticsAreErrors) {
  const TemporaryFolder folder;
  const fs::path file = folder / "s.npz";
  put_statistics(file, {4, 1, 1, 9});
  const std::string bytes = read_text(file);
  for (size_t length = 0; length < bytes.size(); length += 13) {
    put(folder / "cut.npz", std::string_view(bytes).substr(0, length));
    try {  // what is complete before the cut may still be read
      EXPECT_EQ(read_statistics(folder / "cut.npz").sigma, (linalg::Matrix{4, 1, 1, 9}));
      EXPECT_GT(length, bytes.size() / 2);
    } catch (const Error&) {
    }
  }
  const auto put_shape = [&](const std::vector<int64_t>& mu, const std::vector<int64_t>& sigma) {
    AtomicFile target(file);
    io::ZipWriter zip(target);
    for (const auto& [name, shape] : {std::pair("mu.npy", mu), {"sigma.npy", sigma}}) {
      int64_t count = 1;
      for (const int64_t extent : shape) count *= extent;
      const std::string array = io::npy_bytes(shape, std::vector<double>(static_cast<size_t>(count), 1));
      zip.add(name, std::as_bytes(std::span(array)));
    }
    zip.finish();
    target.commit();
  };
  put_shape({2}, {2, 2});
  EXPECT_EQ(read_statistics(file).n, 0);
  put_shape({2}, {4});
  EXPECT_ERROR(read_statistics(file), "mu has the shape (2), sigma (4)");
  put_shape({2}, {3, 3});
  EXPECT_ERROR(read_statistics(file), "sigma (3, 3)");
  put_shape({0}, {0, 0});
  EXPECT_ERROR(read_statistics(file), "mu has the shape (0)");
}

// All metrics of the table, with options as the command line gives them.
nlohmann::json evaluated(const FeatureSet& samples, const EvaluationReference& reference,
                         const std::vector<std::string>& words, uint64_t seed = 0) {
  Metrics metrics;
  OptionSet options("evaluate", "");
  metrics.declare(options);
  options.parse(words);
  return to_json(metrics.evaluate(samples, reference, seed));
}

TEST(Quality, SetsSortedByClassAreNotCutToTheirFirstClass) {
  FeatureSet real = drawn(200, 3, 1);
  const FeatureSet second = drawn(200, 3, 2, 1, 50), samples = drawn(100, 3, 3, 1, 50);
  real.features.insert(real.features.end(), second.features.begin(), second.features.end());
  real.n = 400;
  const auto at = [&](uint64_t seed) {
    return evaluated(samples, {statistics_of(real), real}, {"--kid-subsets", "2", "--most", "150"}, seed);
  };
  const auto found = at(1);
  EXPECT_GT(found["precision_recall"]["precision"], 0.8);  // the first 150 are all of the other class
  EXPECT_EQ(found["precision_recall"]["n_reference"], 150);
  EXPECT_EQ(found["precision_recall"]["seed"], 1);
  EXPECT_EQ(found["precision_recall"], at(1)["precision_recall"]);
  EXPECT_NE(found["precision_recall"]["recall"], at(2)["precision_recall"]["recall"]);
}

TEST(Quality, TooFewImagesLeaveMeasuresOut) {
  const FeatureSet a = drawn(3, 4, 1), b = drawn(30, 4, 2);
  const auto found = evaluated(a, {statistics_of(b), b}, {"--kid-size", "10"});
  EXPECT_FALSE(found.contains("kid") || found.contains("precision_recall"));
  EXPECT_EQ(found["left_out"]["kid"], "needs 10 images of each, there are 3 and 30");
  EXPECT_TRUE(found["left_out"].contains("precision_recall"));
  EXPECT_TRUE(found["fid"]["value"].is_number());
}

TEST(Quality, EvaluationSaysWhatItLeavesOut) {
  const FeatureSet a = drawn(40, 4, 1), b = drawn(30, 4, 2);
  const auto alone = evaluated(a, {statistics_of(b), std::nullopt}, {});
  EXPECT_FALSE(alone.contains("kid"));
  EXPECT_TRUE(alone["left_out"].contains("kid"));
  EXPECT_TRUE(alone["left_out"].contains("inception_score"));
  const auto whole = evaluated(a, {statistics_of(b), b}, {"--kid-subsets", "5"});
  EXPECT_EQ(whole["kid"]["subset_size"], 15);
  EXPECT_EQ(whole["fid"]["n_reference"], 30);
  EXPECT_EQ(whole["precision_recall"]["k"], 3);
}

// A metric of one's own: how far the means of the first feature are apart.
struct Shift : Metric {
  struct Value : MetricValue {
    double value = 0;
    nlohmann::json to_json() const override { return value; }
    std::string text() const override { return fmt::format("shift {:.1f}\n", value); }
    std::vector<std::string> cells() const override { return {fmt::format("{:.1f}", value)}; }
  };
  std::unique_ptr<MetricValue> compute(const FeatureSet& samples, const EvaluationReference& reference,
                                       uint64_t) const override {
    auto found = std::make_unique<Value>();
    found->value = statistics_of(samples).mu[0] - reference.statistics.mu[0];
    return found;
  }
  std::vector<Column> columns() const override { return {{"shift", 7}}; }
};

TEST(Quality, AMetricOfOnesOwnIsOneRow) {
  metrics().add({"shift", [] { return std::make_unique<Shift>(); }});
  const FeatureSet a = drawn(400, 2, 1, 0.001f, 3), b = drawn(400, 2, 2, 0.001f, 1);
  const Metrics all;
  const Evaluation found = all.evaluate(a, {statistics_of(b), b}, 0);
  EXPECT_NEAR(to_json(found)["shift"].get<double>(), 2, 0.01);
  EXPECT_NE(text(found).find("shift 2.0\n"), std::string::npos);
  EXPECT_EQ(all.columns().back().title, "shift");
  EXPECT_EQ(all.cells(found).back(), "2.0");
  EXPECT_EQ(all.columns().size(), all.cells(found).size());
  EXPECT_NEAR(*found.rank(), 8, 0.1);  // still the FID
}

}  // namespace
}  // namespace mdsm::eval

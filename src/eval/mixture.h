// A mixture of Gaussians fitted by expectation maximisation, for a handful of features. Double precision.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "core/enum_names.h"

namespace mdsm::eval {

// Rows of numbers: (rows x columns), row after row.
struct FeatureTable {
  int64_t columns = 0;
  std::vector<double> values;

  int64_t rows() const { return columns ? static_cast<int64_t>(values.size()) / columns : 0; }
  std::span<const double> row(int64_t i) const {
    return {values.data() + i * columns, static_cast<size_t>(columns)};
  }
};

enum class Covariance { full, diagonal };
constexpr auto enum_names(Covariance) {
  return names_of<Covariance>({{Covariance::full, "full"}, {Covariance::diagonal, "diagonal"}});
}

struct MixtureOptions {
  int64_t components = 4;
  Covariance covariance = Covariance::full;  // of each component
  int64_t iterations = 500;
  double tolerance = 1e-6;  // stops when the mean log density grows by less
  double floor = 1e-4;      // added to the variances, as a share of the data's
  uint64_t seed = 0;        // of the first centres
  int64_t least_rows = 0;   // fewer are refused; 0: one more than columns, so that the floor matters little
};

class GaussianMixture {
 public:
  struct Part {
    double weight = 0;
    std::vector<double> mean;
    std::vector<double> factor;  // lower triangle L of the covariance L Lᵀ, (d x d)
    double log_scale = 0;        // log weight - log of the normaliser; follows from the others
  };

  GaussianMixture() = default;
  explicit GaussianMixture(std::vector<Part> parts);
  static GaussianMixture fit(const FeatureTable& data, const MixtureOptions& options);

  double log_density(std::span<const double> x) const;
  int64_t components() const { return static_cast<int64_t>(parts_.size()); }
  double weight(int64_t part) const { return parts_[static_cast<size_t>(part)].weight; }
  std::span<const double> mean(int64_t part) const { return parts_[static_cast<size_t>(part)].mean; }
  // Mean log density of the data after each iteration: never falls (up to the floor of the variances).
  const std::vector<double>& history() const { return history_; }

  const std::vector<Part>& parts() const { return parts_; }

 private:
  static void normalise(Part& part);
  double log_part(const Part& part, std::span<const double> x) const;
  static void drop(Part& part, size_t dimensions);
  void expect(const FeatureTable& data, std::vector<double>& shares);
  void maximise(const FeatureTable& data, const std::vector<double>& shares, const std::vector<double>& floor,
                Covariance kind);

  std::vector<Part> parts_;
  std::vector<double> history_;
};

}  // namespace mdsm::eval

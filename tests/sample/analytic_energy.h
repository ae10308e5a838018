// Energies that are written down instead of learnt, so that the right answer of every sampler is known.
#pragma once

#include <cmath>
#include <functional>
#include <numeric>
#include <vector>

#include "core/error.h"
#include "engine/energy_model.h"
#include "sample/diagnostics.h"
#include "sample/sampler.h"

namespace mdsm::test {

constexpr int64_t kPixels = 64;
constexpr Shape kTiny{1, 1, 8, 8};

class AnalyticEnergy : public engine::EnergyModel {
 public:
  using EnergyModel::EnergyModel;

 protected:
  // E(x) of one image; grad_x may be null.
  virtual double energy_of(const float* x, float* grad_x) const = 0;

 private:
  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override {
    for (int64_t i = 0; i < x.shape.n; ++i)
      energy[static_cast<size_t>(i)] =
          static_cast<float>(energy_of(x.image(i).data(), grad_x.image(i).data()));
  }
};

// E = (x - mean)ᵀ A (x - mean) / 2. A is diagonal (precision[i]) but for one pair: A01 = A10 = coupling.
class GaussianEnergy : public AnalyticEnergy {
 public:
  explicit GaussianEnergy(double sigma0 = 0.1) : AnalyticEnergy(kTiny, sigma0) {
    for (int64_t i = 0; i < kPixels; ++i) {
      mean.push_back(0.01 * static_cast<double>(i));
      precision.push_back(1 + 0.05 * static_cast<double>(i));
    }
  }
  std::vector<double> mean, precision;
  double coupling = 0.6;

  double energy_of(const float* x, float* grad_x) const override {
    double energy = 0;
    for (size_t i = 0; i < kPixels; ++i) {
      const double offset = x[i] - mean[i];
      double slope = precision[i] * offset;
      if (i < 2) slope += coupling * (x[1 - i] - mean[1 - i]);
      if (grad_x) grad_x[i] = static_cast<float>(slope);
      energy += slope * offset / 2;
    }
    return energy;
  }

  struct Pair {
    double v00, v11, v01;
  };
  // Inverse of the coupled pair of A, times factor.
  Pair covariance(double factor = 1) const {
    const double det = precision[0] * precision[1] - coupling * coupling;
    return {factor * precision[1] / det, factor * precision[0] / det, -factor * coupling / det};
  }
  // What a Langevin chain of finite eps settles at: A⁻¹ (I - eps² A/4)⁻¹ = (A - eps² A²/4)⁻¹, exactly.
  Pair langevin_covariance(double eps) const {
    const double a = precision[0], b = precision[1], c = coupling, e = eps * eps / 4;
    const double m00 = a - e * (a * a + c * c), m11 = b - e * (b * b + c * c), m01 = c - e * c * (a + b);
    const double det = m00 * m11 - m01 * m01;
    return {m11 / det, m00 / det, -m01 / det};
  }
};

// Two round Gaussians of width s, centred at -separation/2 and +separation/2 of pixel 0 and at 0 of all
// others, with weights 1 - weight and weight.
class MixtureEnergy : public AnalyticEnergy {
 public:
  MixtureEnergy(double separation, double weight, double s)
      : AnalyticEnergy(kTiny, 0.1), half_(separation / 2), weight_(weight), s_(s) {}

  double energy_of(const float* x, float* grad_x) const override {
    double rest = 0;
    for (size_t i = 1; i < kPixels; ++i) rest += static_cast<double>(x[i]) * x[i];
    const double left = x[0] + half_, right = x[0] - half_, s2 = s_ * s_;
    const double a = std::log(1 - weight_) - left * left / (2 * s2);
    const double b = std::log(weight_) - right * right / (2 * s2);
    const double top = std::max(a, b), sum = std::exp(a - top) + std::exp(b - top);
    const double share = std::exp(b - top) / sum;  // of the right mode
    if (grad_x) {
      for (size_t i = 1; i < kPixels; ++i) grad_x[i] = static_cast<float>(x[i] / s2);
      grad_x[0] = static_cast<float>(((1 - share) * left + share * right) / s2);
    }
    return rest / (2 * s2) - top - std::log(sum);
  }

  // P(pixel 0 > 0) at T = 1.
  double right_share() const {
    const double inside = 0.5 * std::erfc(-half_ / (s_ * std::sqrt(2.0)));
    return weight_ * inside + (1 - weight_) * (1 - inside);
  }
  Tensor exact_samples(std::span<const uint64_t> seeds) const {
    Tensor x(images(static_cast<int64_t>(seeds.size())));
    for (int64_t i = 0; i < x.shape().n; ++i) {
      RandomStream stream(seeds[static_cast<size_t>(i)], Purpose::check);
      const bool right = stream.uniform() < weight_;
      const auto image = x.view().image(i);
      stream.fill_normal(image);
      for (float& value : image) value *= static_cast<float>(s_);
      image[0] += static_cast<float>(right ? half_ : -half_);
    }
    return x;
  }

 private:
  double half_, weight_, s_;
};

inline std::vector<uint64_t> seeds_from(uint64_t first, size_t count) {
  std::vector<uint64_t> seeds(count);
  std::iota(seeds.begin(), seeds.end(), first);
  return seeds;
}

// Several numbers of every state of a run after its burn-in, with their Monte-Carlo error.
class Statistics {
 public:
  using Function = std::function<double(std::span<const float>)>;
  Statistics(int64_t chains, int64_t burn_in, std::vector<Function> functions)
      : chains_(chains), burn_in_(burn_in), functions_(std::move(functions)), values_(functions_.size()) {}

  sample::Observer observer() {
    return [this](const sample::StepReport& report) {
      if (report.step <= burn_in_) return;
      for (size_t f = 0; f < functions_.size(); ++f)
        for (int64_t i = 0; i < chains_; ++i)
          values_[f].push_back(static_cast<float>(functions_[f](report.x.image(i))));
    };
  }
  sample::ChainDiagnostics of(size_t function) const { return sample::diagnose(values_[function], chains_); }

 private:
  int64_t chains_, burn_in_;
  std::vector<Function> functions_;
  std::vector<std::vector<float>> values_;
};

}  // namespace mdsm::test

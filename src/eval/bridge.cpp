#include "eval/bridge.h"

#include <algorithm>
#include <cmath>
#include <numbers>

#include "core/error.h"
#include "core/threads.h"
#include "eval/mean.h"
#include "sample/sampler.h"

namespace mdsm::eval {
namespace {

template <class Body>
void for_images(const data::Dataset& images, Body body) {
  std::vector<float> image(static_cast<size_t>(images.image_shape().per_image()));
  for (int64_t i = 0; i < images.size(); ++i) {
    images.read(i, image);
    body(std::span<const float>(image));
  }
}

GaussianReference fitted(const data::Dataset& images, std::vector<float> mean, double std) {
  GaussianReference reference{std::move(mean), std};
  if (std > 0) return reference;
  double sum = 0;
  for_images(images, [&](std::span<const float> x) { sum += squared_distance<float>(x, reference.mean); });
  reference.std = std::sqrt(sum / static_cast<double>(images.image_shape().with_n(images.size()).count()));
  if (!(reference.std > 0))
    fail("give --reference-std", "all images are equal to the mean of the reference: it has no width");
  return reference;
}

}  // namespace

double GaussianReference::energy(std::span<const float> x) const {
  const double variance = std * std;
  return squared_distance<float>(x, mean) / (2 * variance) +
         static_cast<double>(x.size()) / 2 * std::log(2 * std::numbers::pi * variance);
}

void GaussianReference::sample(uint64_t seed, std::span<float> out) const {
  sample::sample_stream(seed, sample::Draw::start).fill_normal(out);
  for (size_t i = 0; i < out.size(); ++i) out[i] = mean[i] + static_cast<float>(std) * out[i];
}

GaussianReference constant_reference(const data::Dataset& images, double value, double std) {
  const auto pixels = static_cast<size_t>(images.image_shape().per_image());
  return fitted(images, std::vector<float>(pixels, static_cast<float>(value)), std);
}

GaussianReference mean_reference(const data::Dataset& images, double std) {
  std::vector<double> sum(static_cast<size_t>(images.image_shape().per_image()));
  for_images(images, [&](std::span<const float> x) {
    for (size_t i = 0; i < x.size(); ++i) sum[i] += x[i];
  });
  std::vector<float> mean;
  for (const double value : sum)
    mean.push_back(static_cast<float>(value / static_cast<double>(images.size())));
  return fitted(images, std::move(mean), std);
}

Bridge::Bridge(engine::EnergyModel& target, const GaussianReference& reference)
    : engine::EnergyModel(target.image_shape(), target.sigma0()), target_(target), reference_(reference) {
  target.require_energy("annealed importance sampling");
  if (static_cast<int64_t>(reference.mean.size()) != image_shape().count())
    fail("this is a bug in the caller", "the reference has {} pixels instead of {}", reference.mean.size(),
         image_shape().count());
  if (!(reference.std > 0) || !std::isfinite(reference.std))
    fail_usage("use a positive width", "the reference has the width {}", reference.std);
}

void Bridge::evaluate_target(ConstTensorView x) {
  if (target_gradient_.shape() != x.shape) target_gradient_ = Tensor(x.shape);
  target_energy_.resize(static_cast<size_t>(x.shape.n));
  target_.energy_and_gradient(x, target_energy_, target_gradient_);
}

float Bridge::mix(std::span<const float> x, float target_energy, std::span<const float> target_gradient,
                  std::span<float> grad_x) const {
  const float beta = static_cast<float>(beta_);
  const float pull = static_cast<float>((1 - beta_) / (reference_.std * reference_.std));
  for (size_t i = 0; i < x.size(); ++i)
    grad_x[i] = beta * target_gradient[i] + pull * (x[i] - reference_.mean[i]);
  return static_cast<float>((1 - beta_) * reference_.energy(x) + beta_ * target_energy);
}

void Bridge::energy_impl(ConstTensorView x, std::span<float> energy) {
  target_.energy(x, energy);
  for (int64_t i = 0; i < x.shape.n; ++i) {
    float& value = energy[static_cast<size_t>(i)];
    value = static_cast<float>((1 - beta_) * reference_.energy(x.image(i)) + beta_ * value);
  }
}

void Bridge::energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) {
  evaluate_target(x);
  parallel_for(x.shape.n, 2, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i)
      energy[static_cast<size_t>(i)] = mix(x.image(i), target_energy_[static_cast<size_t>(i)],
                                           target_gradient_.view().image(i), grad_x.image(i));
  });
}

}  // namespace mdsm::eval

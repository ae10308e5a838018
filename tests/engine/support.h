// What the engine tests share: random images, and relative errors of whole vectors.
#pragma once

#include <cmath>
#include <span>
#include <vector>

#include "core/random.h"
#include "core/tensor.h"
#include "engine/reference.h"
#include "small_network.h"

namespace mdsm::test {

// Images in [0,1], the same with noise from 0.1 to 3 over the batch, and the weights 1 / (n sigma²).
struct Batch {
  Tensor x, noisy;
  std::vector<float> weight;

  Batch(const network::Spec& spec, int64_t n, uint64_t seed = 1) : x(spec.input(n)), noisy(spec.input(n)) {
    RandomStream(seed, Purpose::check, 0).fill_uniform(x.values(), 0, 1);
    RandomStream(seed, Purpose::check, 1).fill_normal(noisy.values());
    for (int64_t i = 0; i < n; ++i) {
      const double sigma =
          0.1 * std::pow(30.0, n == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(n - 1));
      const auto image = noisy.view().image(i);
      const auto clean = x.view().image(i);
      for (size_t k = 0; k < image.size(); ++k) image[k] = clean[k] + static_cast<float>(sigma) * image[k];
      weight.push_back(static_cast<float>(1 / (sigma * sigma * static_cast<double>(n))));
    }
  }
};

inline Map map_of(ConstTensorView images, int64_t i) {
  Map map(images.shape.c, images.shape.h, images.shape.w);
  const auto values = images.image(i);
  map.v.assign(values.begin(), values.end());
  return map;
}

template <class A, class B>
double norm_of_difference(const A& a, const B& b) {
  double total = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = static_cast<double>(a[i]) - static_cast<double>(b[i]);
    total += d * d;
  }
  return std::sqrt(total);
}

template <class A>
double norm(const A& a) {
  double total = 0;
  for (const auto value : a) total += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(total);
}

// ‖a - b‖ / ‖b‖; 0 when both are zero.
template <class A, class B>
double relative_error(const A& a, const B& b) {
  const double difference = norm_of_difference(a, b);
  return difference == 0 ? 0 : difference / norm(b);
}

template <class T>
std::span<T> part(std::span<T> all, const network::ParameterInfo& info) {
  return all.subspan(static_cast<size_t>(info.offset), static_cast<size_t>(info.count));
}

}  // namespace mdsm::test

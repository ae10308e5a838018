#include "train/noise.h"

#include <cmath>
#include <limits>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"

namespace mdsm::train {

void validate(const NoiseOptions& options) {
  if (options.kind != NoiseKind::single && options.sigma_min > options.sigma_max)
    fail_usage("exchange them", "--sigma-min {} is above --sigma-max {}", options.sigma_min,
               options.sigma_max);
}

nlohmann::json to_json(const NoiseOptions& options) {
  nlohmann::json noise = {{"kind", to_string(options.kind)}, {"weight_power", options.weight_power}};
  if (options.kind == NoiseKind::single)
    noise["sigma"] = options.sigma;
  else
    noise.update({{"sigma_min", options.sigma_min}, {"sigma_max", options.sigma_max}});
  return noise;
}

std::vector<float> noise_levels(const NoiseOptions& options, int64_t batch) {
  validate(options);
  std::vector<float> levels(static_cast<size_t>(batch));
  const double low = options.sigma_min, high = options.sigma_max;
  for (int64_t i = 0; i < batch; ++i) {
    const double place = batch > 1 ? static_cast<double>(i) / static_cast<double>(batch - 1) : 0;
    double level = options.sigma;
    if (options.kind == NoiseKind::linear) level = low + place * (high - low);
    if (options.kind == NoiseKind::geometric) level = low * std::pow(high / low, place);
    levels[static_cast<size_t>(i)] = static_cast<float>(level);
  }
  // The last level is the end of the range itself, whatever rounding made of it.
  if (options.kind != NoiseKind::single && batch > 1) levels.back() = static_cast<float>(high);
  return levels;
}

std::vector<float> objective_weights(std::span<const float> levels, double weight_power) {
  std::vector<float> weights;
  weights.reserve(levels.size());
  for (const float sigma : levels)
    weights.push_back(static_cast<float>(std::pow(static_cast<double>(sigma), -weight_power) /
                                         static_cast<double>(levels.size())));
  return weights;
}

void add_training_noise(ConstTensorView clean, std::span<const float> levels, uint64_t seed, int64_t step,
                        TensorView noisy, std::optional<ImageRange> only) {
  const int64_t batch = clean.shape.n;
  const ImageRange images = only.value_or(ImageRange{0, batch});
  parallel_for(images.count, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = images.first + begin; i < images.first + end; ++i) {
      const std::span<const float> x = clean.image(i);
      const std::span<float> out = noisy.image(i);
      RandomStream(seed, Purpose::training_noise, static_cast<uint64_t>(step * batch + i)).fill_normal(out);
      const float sigma = levels[static_cast<size_t>(i)];
      for (size_t k = 0; k < out.size(); ++k) out[k] = x[k] + sigma * out[k];
    }
  });
}

double normalised_loss(std::span<const float> residual, std::span<const float> levels) {
  if (residual.empty()) return std::numeric_limits<double>::quiet_NaN();
  double sum = 0;
  for (size_t i = 0; i < residual.size(); ++i) {
    const double sigma = levels[i];
    sum += residual[i] / (sigma * sigma);
  }
  return sum / static_cast<double>(residual.size());
}

}  // namespace mdsm::train

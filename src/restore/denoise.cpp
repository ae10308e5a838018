#include "restore/denoise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "sample/checks.h"
#include "sample/update.h"

namespace mdsm::restore {

void denoise_into(double sigma0, ConstTensorView x, ConstTensorView grad_x, TensorView out) {
  const float share = static_cast<float>(sigma0 * sigma0);
  for (size_t i = 0; i < x.values().size(); ++i) out.data[i] = x.data[i] - share * grad_x.data[i];
}

std::vector<float> noise_levels(double sigma0, ConstTensorView grad_x) {
  std::vector<float> levels;
  for (int64_t i = 0; i < grad_x.shape.n; ++i) levels.push_back(sample::noise_level(sigma0, grad_x.image(i)));
  return levels;
}

Denoised denoise(engine::EnergyModel& model, ConstTensorView noisy, const DenoiseOptions& options) {
  Tensor copy(noisy.shape);
  std::ranges::copy(noisy.values(), copy.data());
  return denoise_in_place(model, std::move(copy), options);
}

Denoised denoise_in_place(engine::EnergyModel& model, Tensor noisy, const DenoiseOptions& options) {
  sample::check_at_least(options.steps, 1, "steps");
  sample::check_range(options.share, 0.01, 1, "share");
  sample::check_range(options.strength, 0, 2, "strength");
  Denoised out{std::move(noisy), {}, {}};
  Tensor grad_x(out.x.shape());
  std::vector<float> energy(static_cast<size_t>(out.x.shape().n));
  for (int64_t step = 1; step <= options.steps; ++step) {
    model.energy_and_gradient(out.x, energy, grad_x);
    if (step == 1) out.energy = energy, out.sigma = noise_levels(model.sigma0(), grad_x);
    const double share = options.strength * (step == options.steps ? 1 : options.share);
    if (!sample::drift(out.x.values(), grad_x.values(),
                       static_cast<float>(-share * model.sigma0() * model.sigma0())))
      fail("use fewer steps or a smaller share", "denoising diverged at step {}", step);
  }
  return out;
}

std::vector<double> psnr(ConstTensorView x, ConstTensorView truth) {
  if (x.shape != truth.shape)
    fail("compare images of one shape", "PSNR of images {} against {}", x.shape.text(), truth.shape.text());
  std::vector<double> out;
  for (int64_t i = 0; i < x.shape.n; ++i) {
    double sum = 0;
    for (int64_t j = 0; j < x.shape.per_image(); ++j) {
      const double d =
          static_cast<double>(x.image(i)[static_cast<size_t>(j)]) - truth.image(i)[static_cast<size_t>(j)];
      sum += d * d;
    }
    const double mean = sum / static_cast<double>(x.shape.per_image());
    out.push_back(mean > 0 ? -10 * std::log10(mean) : std::numeric_limits<double>::infinity());
  }
  return out;
}

}  // namespace mdsm::restore

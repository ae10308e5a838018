#include "sample/denoise.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "sample/checks.h"
#include "sample/update.h"

namespace mdsm {

void denoise_into(const Spec& spec, ConstTensorView x, ConstTensorView grad_x, TensorView out) {
  const float share = static_cast<float>(spec.sigma0 * spec.sigma0);
  for (size_t i = 0; i < x.values().size(); ++i) out.data[i] = x.data[i] - share * grad_x.data[i];
}

std::vector<float> noise_levels(const Spec& spec, ConstTensorView grad_x) {
  std::vector<float> levels;
  for (int64_t i = 0; i < grad_x.shape.n; ++i) levels.push_back(noise_level(spec.sigma0, grad_x.image(i)));
  return levels;
}

Denoised denoise(Engine& engine, ConstTensorView noisy, const DenoiseOptions& options) {
  check_at_least(options.steps, 1, "steps");
  check_range(options.share, 0.01, 1, "share");
  const Spec& spec = engine.spec();
  Denoised out{Tensor(noisy.shape), {}, std::vector<float>(static_cast<size_t>(noisy.shape.n))};
  std::ranges::copy(noisy.values(), out.x.data());
  Tensor grad_x(noisy.shape);
  std::vector<float> energy(out.energy.size());
  for (int64_t step = 1; step <= options.steps; ++step) {
    engine.energy_and_gradient(out.x, energy, grad_x);
    if (step == 1) out.energy = energy, out.sigma = noise_levels(spec, grad_x);
    const double share = (step == options.steps ? 1 : options.share) * spec.sigma0 * spec.sigma0;
    if (!drift(out.x.values(), grad_x.values(), static_cast<float>(-share)))
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

}  // namespace mdsm

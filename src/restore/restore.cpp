#include "restore/restore.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "sample/blind.h"
#include "sample/chains.h"
#include "sample/checks.h"
#include "sample/update.h"

namespace mdsm::restore {
namespace {

void check_images(const sample::Run& run, const Shape& shape, const char* what) {
  const Shape wanted = run.model.images(static_cast<int64_t>(run.seeds.size()));
  if (shape != wanted)
    fail_usage("fit the images to the model, one for each seed", "{} have shape {} instead of {}", what,
               shape.text(), wanted.text());
}

// Known pixels of row, with fresh noise of level sigma on them; missing ones stay as they are.
void clamp(sample::Chains& chains, int64_t row, const Tensor& known, const image::Mask& mask, int64_t step,
           double sigma) {
  const auto x = chains.x().image(row);
  const auto from = known.view().image(chains.index(row));
  std::vector<float> noise(x.size());
  if (sigma > 0) chains.noise(row, sample::Draw::clamped, step).fill(noise);
  const Shape& s = known.shape();
  size_t at = 0;
  for (int64_t c = 0; c < s.c; ++c)
    for (int64_t y = 0; y < s.h; ++y)
      for (int64_t column = 0; column < s.w; ++column, ++at)
        if (mask.at(chains.index(row), c, y, column))
          x[at] = from[at] + static_cast<float>(sigma) * noise[at];
}

// Pictures are within [0,1], and so is the mean of all that a noisy one may have been. A model that says much
// more is wrong there. Cut, or the noise level that is read from it would send the sample away for good.
constexpr float kDarkest = -1, kBrightest = 2;

}  // namespace

sample::Samples restore(const sample::Run& run, const LinearMeasurement& measurement,
                        ConstTensorView measured, const sample::FastOptions& options) {
  check_images(run, measured.shape, "the measured images");
  if (find_non_finite(measured.values()) >= 0) fail("check the images", "a measured value is not finite");
  measurement.measured_shape(measured.shape);  // says when the images do not fit
  const Shape image = measured.shape.with_n(1);
  const double sigma0 = run.model.sigma0();
  const float scale = static_cast<float>(sigma0 * sigma0);
  return sample::run_blind(
      run, options,
      [&](int64_t index, std::span<const float> x, std::span<const float> g, std::span<float> d) {
        // P of D = x - sigma0² g at once: d = x - D + P(D) - M⁺y.
        const auto m = measured.image(index);
        std::vector<float> jump(x.size()), away(x.size());  // D and x - D
        for (size_t i = 0; i < x.size(); ++i) {
          away[i] = scale * g[i];
          jump[i] = x[i] - away[i];
          if (jump[i] < kDarkest || jump[i] > kBrightest) {
            jump[i] = std::clamp(jump[i], kDarkest, kBrightest);
            away[i] = x[i] - jump[i];
          }
        }
        measurement.project(index, jump.data(), d.data(), image);
        for (size_t i = 0; i < x.size(); ++i) d[i] += away[i] - m[i];
      });
}

Tensor start_from(const sample::Run& run, ConstTensorView measured, double sigma) {
  check_images(run, measured.shape, "the measured images");
  Tensor x = sample::start_images(run.model.image_shape(), run.seeds, sigma, run.place);
  for (size_t i = 0; i < x.values().size(); ++i) x.values()[i] += measured.values()[i] - 0.5f;
  return x;
}

sample::Samples inpaint_fast(const sample::Run& run, ConstTensorView images, const image::Mask& mask,
                             const sample::FastOptions& options) {
  check_images(run, images.shape, "the images");
  const Tensor known = hide(images, mask);  // from here on nothing can see the missing pixels
  const auto measurement = mask_measurement(mask);
  const Tensor measured = measurement->lift(known, known.shape());
  sample::Samples samples = restore(run, *measurement, measured, options);
  show(known, mask, samples.x);
  return samples;
}

sample::Samples inpaint_annealed(const sample::Run& run, ConstTensorView images, const image::Mask& mask,
                                 std::span<const double> temperatures,
                                 const sample::LangevinOptions& options) {
  check_images(run, images.shape, "the images");
  sample::check_temperatures(temperatures);
  sample::check_positive(options.eps, "eps");
  const Tensor known = hide(images, mask);  // from here on nothing can see the missing pixels
  sample::Chains chains(run, 1, "use a smaller --eps");
  const int64_t steps = static_cast<int64_t>(temperatures.size());
  const float factor = static_cast<float>(-options.eps * options.eps / 2);
  for (int64_t step = 0;; ++step) {
    const double t = step < steps ? temperatures[static_cast<size_t>(step)] : 0;
    const double sigma = chains.sigma0() * std::sqrt(t);
    chains.for_rows(step, [&](int64_t row) {
      clamp(chains, row, known, mask, step, sigma);
      return true;
    });
    chains.evaluate(step);
    chains.report(step, steps, t, sigma);
    if (step == steps || chains.stop_asked()) {
      sample::Samples samples = chains.finish(options.jump, step);
      show(known, mask, samples.x);
      return samples;
    }
    // All pixels move; the known ones are put back before the next gradient.
    const float scale = static_cast<float>(options.eps * std::sqrt(t));
    chains.for_rows(step, [&](int64_t row) {
      return sample::drift_and_diffuse(chains.x().image(row), chains.grad_x().image(row), factor, scale,
                                       chains.noise(row, sample::Draw::step, step));
    });
  }
}

}  // namespace mdsm::restore

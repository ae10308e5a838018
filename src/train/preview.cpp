#include "train/preview.h"

#include <algorithm>

#include "core/error.h"
#include "core/random.h"
#include "image/image.h"

namespace mdsm::train {

Preview::Preview(const data::Dataset& test, const network::Spec& spec, const NoiseOptions& noise,
                 uint64_t seed, engine::EngineOptions engine)
    : spec_(spec), engine_options_(std::move(engine)) {
  if (test.image_shape() != spec.input(1))
    fail("fit both alike, or use --preview-every 0", "the test images are {}, the training images {}",
         test.image_shape().text(), spec.input(1).text());
  const int64_t count = std::min(kImages, test.size());
  clean_ = Tensor(spec.input(count));
  noisy_ = Tensor(spec.input(count));
  const std::vector<float> levels = noise_levels(noise, count);
  for (int64_t i = 0; i < count; ++i) {
    const std::span<float> clean = clean_.view().image(i), noisy = noisy_.view().image(i);
    test.read(i, clean);
    RandomStream(seed, Purpose::preview_noise, static_cast<uint64_t>(i)).fill_normal(noisy);
    for (size_t k = 0; k < clean.size(); ++k) noisy[k] = clean[k] + levels[static_cast<size_t>(i)] * noisy[k];
  }
}

void Preview::write(const fs::path& png, const engine::TrainableEnergy& trained) {
  network::Parameters average(spec_);
  trained.read(engine::StateVector::ema, average.values());
  if (engine_)
    engine_->write(engine::StateVector::weights, average.values());
  else
    engine_ = engine::make_engine(engine_options_, average);

  const int64_t count = clean_.shape().n;
  Tensor rows(spec_.input(3 * count)), grad_x(spec_.input(count));
  std::vector<float> energy(static_cast<size_t>(count));
  engine_->energy_and_gradient(noisy_, energy, grad_x);
  const auto sigma0_squared = static_cast<float>(spec_.sigma0 * spec_.sigma0);
  std::ranges::copy(noisy_.values(), rows.view().images(0, count).values().begin());
  std::ranges::copy(clean_.values(), rows.view().images(2 * count, count).values().begin());
  const std::span<float> denoised = rows.view().images(count, count).values();
  for (size_t k = 0; k < denoised.size(); ++k)
    denoised[k] = noisy_.values()[k] - sigma0_squared * grad_x.values()[k];
  image::write_png(png, image::grid(rows, count, 2));
}

}  // namespace mdsm::train

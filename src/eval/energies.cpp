#include "eval/energies.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "eval/mean.h"
#include "eval/share.h"

namespace mdsm::eval {
namespace {

void add_noise(std::span<float> image, double level, uint64_t seed, int64_t index,
               std::vector<float>& noise) {
  noise.resize(image.size());
  RandomStream(seed, Purpose::added_noise, static_cast<uint64_t>(index)).fill_normal(noise);
  for (size_t i = 0; i < image.size(); ++i) image[i] += static_cast<float>(level) * noise[i];
}

}  // namespace

void check_fits(const Shape& wanted, const data::Dataset& data) {
  if (data.size() < 1) fail("choose another source, split or limit", "{}: no images", data.description());
  const Shape found = data.image_shape();
  if (found != wanted)
    fail("fit them with --pad, --crop, --resize or --colour",
         "images of {}x{}x{} (channels, height, width) do not fit a model for {}x{}x{}", found.c, found.h,
         found.w, wanted.c, wanted.h, wanted.w);
}

Energies compute_energies(engine::EnergyModel& engine, const data::Dataset& data,
                          const EnergyOptions& options, const std::function<void(int64_t)>& done) {
  engine.require_energy("a list of energies");
  check_fits(engine.image_shape(), data);
  const int64_t n = data.size(), batch = std::clamp<int64_t>(options.batch, 1, n);
  const Shape one = data.image_shape();
  Energies result;
  result.energy.resize(static_cast<size_t>(n));
  if (options.gradient) result.grad_x.resize(static_cast<size_t>(one.with_n(n).count()));
  Tensor images(one.with_n(batch));
  std::vector<float> noise;
  for (int64_t first = 0; first < n; first += batch) {
    const TensorView x = images.view().images(0, std::min(batch, n - first));
    for (int64_t i = 0; i < x.shape.n; ++i) {
      data.read(first + i, x.image(i));
      if (options.noise > 0)
        add_noise(x.image(i), options.noise, options.seed, options.first + first + i, noise);
    }
    const auto energy = std::span(result.energy).subspan(first, x.shape.n);
    if (options.gradient)
      engine.energy_and_gradient(x, energy, {result.grad_x.data() + first * one.per_image(), x.shape});
    else
      engine.energy(x, energy);
    if (const int64_t bad = find_non_finite(energy); bad >= 0)
      fail("check the model and the noise level", "the energy of image {} is {}", options.first + first + bad,
           energy[bad]);
    if (done) done(first + x.shape.n);
  }
  return result;
}

std::vector<float> shared_energies(distributed::Communicator& world, engine::EnergyModel& engine,
                                   const data::Dataset& data, const EnergyOptions& options,
                                   const std::function<void(int64_t)>& done) {
  if (world.alone()) return compute_energies(engine, data, options, done).energy;
  const Share own = share_of(world, data);
  EnergyOptions some = options;
  some.first += own.first;
  std::vector<float> energy;
  if (own.images.size() > 0)
    energy = compute_energies(engine, own.images, some, [&](int64_t n) {
               if (done) done(n * data.size() / own.images.size());
             }).energy;
  return gathered(world, energy, world.first() ? data.size() : 0);
}

Summary summarise(std::span<const float> values) {
  Summary summary;
  summary.n = static_cast<int64_t>(values.size());
  if (values.empty()) return summary;
  const auto [low, high] = std::minmax_element(values.begin(), values.end());
  summary.min = *low;
  summary.max = *high;
  const Mean mean = mean_of(values);
  summary.mean = mean.mean;
  summary.std = summary.n > 1 ? mean.std : 0;
  return summary;
}

}  // namespace mdsm::eval

#include "app/energy.h"

#include <algorithm>

#include "app/output.h"
#include "core/error.h"
#include "core/progress.h"
#include "io/npy.h"

namespace mdsm::app {
namespace {

void write(const EnergyOptions& options, const eval::Energies& found, const data::Dataset& images) {
  const Shape one = images.image_shape();
  if (!options.out.empty()) io::write_npy(options.out, {images.size()}, found.energy);
  if (!options.gradient.empty())
    io::write_npy(options.gradient, {images.size(), one.c, one.h, one.w}, found.grad_x);
}

}  // namespace

EnergyResult run_energy(const EnergyOptions& options) {
  for (const std::string& path : {options.out, options.gradient}) check_folder_of(path);
  const network::Model model = options.use.load();
  const auto seed = static_cast<uint64_t>(options.seed);
  data::DataOptions data = options.data;
  data.seed = seed;
  const auto images = open_images(model, data);
  const Shape shape = image_shape(model, *images);
  const int64_t batch = batch_of(shape, std::min(options.use.batch, images->size()));
  const auto engine = options.use.make(model, batch, shape);
  Progress progress("energies", images->size(), "images");
  const eval::Energies found =
      eval::compute_energies(*engine, *images, {options.noise, seed, batch, !options.gradient.empty()},
                             [&](int64_t done) { progress.update(done); });
  Progress::clear_line();
  write(options, found, *images);
  return {eval::summarise(found.energy), options.noise, options.seed, options.use.model,
          images->description()};
}

nlohmann::json to_json(const EnergyResult& result) {
  const eval::Summary& energies = result.energies;
  return {{"n", energies.n},     {"mean", energies.mean}, {"std", energies.std},
          {"min", energies.min}, {"max", energies.max},   {"noise", result.noise},
          {"seed", result.seed}, {"model", result.model}, {"data", result.data}};
}

void print(const EnergyResult& result) {
  const eval::Summary& energies = result.energies;
  fmt::print("images  {}\nmean    {:.6g}\nstd     {:.6g}\nmin     {:.6g}\nmax     {:.6g}\n", energies.n,
             energies.mean, energies.std, energies.min, energies.max);
}

}  // namespace mdsm::app

#include "bench/problem.h"

#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <cstring>

#include "core/error.h"
#include "core/random.h"
#include "io/npy.h"
#include "train/noise.h"

namespace mdsm::bench {

ScratchFolder::ScratchFolder() {
  std::error_code error;
  std::string name = (fs::temp_directory_path(error) / "mdsm-bench-XXXXXX").string();
  if (error || !mkdtemp(name.data()))
    fail("set TMPDIR to a folder that can be written", "{}: cannot be created: {}", name,
         std::strerror(errno));
  path_ = name;
}

ScratchFolder::~ScratchFolder() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

void write_problem(const fs::path& folder, const Configuration& config, uint64_t seed) {
  const Shape shape = config.spec.input(config.batch);
  const std::vector<int64_t> images = {shape.n, shape.c, shape.h, shape.w}, numbers = {shape.n};
  const network::Parameters parameters = network::Parameters::random(config.spec, seed);
  Tensor clean(shape), noisy(shape);
  RandomStream(seed, Purpose::check, 0).fill_uniform(clean.values(), 0, 1);
  const train::NoiseOptions noise;
  const std::vector<float> sigma = noise_levels(noise, config.batch);
  train::add_training_noise(clean, sigma, seed, 0, noisy);
  io::write_npy(folder / "weights.npy", {network::parameter_count(config.spec)}, parameters.values());
  io::write_npy(folder / "clean.npy", images, clean.values());
  io::write_npy(folder / "noisy.npy", images, noisy.values());
  io::write_npy(folder / "sigma.npy", numbers, sigma);
  io::write_npy(folder / "weight.npy", numbers, train::objective_weights(sigma, noise.weight_power));
}

std::vector<float> read_values(const fs::path& path, int64_t count) {
  const io::NpyArray array = io::read_npy(path);
  const auto* values = std::get_if<std::vector<float>>(&array.values);
  if (!values || static_cast<int64_t>(values->size()) != count)
    fail("the program that wrote it does not fit this one", "{}: does not hold {} float32 values",
         path.string(), count);
  return *values;
}

Problem read_problem(const fs::path& folder, const Configuration& config) {
  const Shape shape = config.spec.input(config.batch);
  Problem problem{network::Parameters(config.spec), Tensor(shape), Tensor(shape),
                  read_values(folder / "sigma.npy", config.batch),
                  read_values(folder / "weight.npy", config.batch)};
  const auto fill = [&](const char* name, std::span<float> to) {
    std::ranges::copy(read_values(folder / name, static_cast<int64_t>(to.size())), to.begin());
  };
  fill("weights.npy", problem.parameters.values());
  fill("clean.npy", problem.clean.values());
  fill("noisy.npy", problem.noisy.values());
  return problem;
}

}  // namespace mdsm::bench

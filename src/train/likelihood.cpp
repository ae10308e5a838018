#include "train/likelihood.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"
#include "train/noise.h"

namespace mdsm::train {
namespace {

constexpr double kNan = std::numeric_limits<double>::quiet_NaN();

// Where the samplers start as well.
void fill_start(uint64_t seed, uint64_t index, std::span<float> out) {
  RandomStream(seed, Purpose::likelihood_start, index).fill_normal(out);
  for (float& value : out) value += 0.5f;
}

bool all_finite(std::span<const float> values) { return find_non_finite(values) < 0; }

}  // namespace

LikelihoodObjective::LikelihoodObjective(engine::TrainableEnergy& engine, const TrainOptions& options,
                                         std::vector<float>& chains, TrainObserver& observer)
    : engine_(engine),
      options_(options),
      observer_(observer),
      chains_(chains),
      drawn_(static_cast<size_t>(options.batch)),
      levels_(static_cast<size_t>(options.batch), static_cast<float>(options.sigma0)),
      energy_(levels_.size()),
      weights_(levels_.size()),
      noisy_(engine.spec().input(options.batch)),
      samples_(engine.spec().input(options.batch)),
      grad_x_(engine.spec().input(options.micro())) {
  if (!persistent()) return;
  const auto count = static_cast<size_t>(engine.spec().input(options.ml.buffer).count());
  if (chains_.empty()) {
    chains_.resize(count);
    for (int64_t i = 0; i < options.ml.buffer; ++i)
      fill_start(static_cast<uint64_t>(options.seed), static_cast<uint64_t>(i),
                 chain(static_cast<uint32_t>(i)));
  }
  if (chains_.size() != count)
    fail("the file is damaged or belongs to another run",
         "the training state has chains of {} values, not {}", chains_.size(), count);
}

std::span<float> LikelihoodObjective::chain(uint32_t index) {
  const auto image = static_cast<size_t>(samples_.shape().per_image());
  return std::span(chains_).subspan(index * image, image);
}

// Persistent: some of the kept chains, without the same one twice, a share of them from noise again;
// otherwise all from noise. Streams of starts count on behind those of the first ones.
void LikelihoodObjective::start_samples(int64_t step) {
  const auto seed = static_cast<uint64_t>(options_.seed);
  const auto start_index = [&](int64_t i) {
    return static_cast<uint64_t>(options_.ml.buffer + step * options_.batch + i);
  };
  std::vector<bool> anew(drawn_.size(), true);
  if (persistent()) {
    RandomStream stream(seed, Purpose::likelihood_draw, static_cast<uint64_t>(step));
    for (size_t i = 0; i < anew.size(); ++i) anew[i] = stream.uniform() < options_.ml.restart;
    const auto order = permutation(stream, static_cast<uint32_t>(options_.ml.buffer));
    std::copy_n(order.begin(), drawn_.size(), drawn_.begin());
  }
  parallel_for(options_.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i);
      if (anew[at])
        fill_start(seed, start_index(i), samples_.view().image(i));
      else
        std::ranges::copy(chain(drawn_[at]), samples_.view().image(i).begin());
    }
  });
}

// x <- x - eps²/2 grad_x + eps n: Langevin dynamics at temperature 1.
bool LikelihoodObjective::run_langevin(int64_t step) {
  const auto eps = static_cast<float>(options_.ml.eps);
  std::vector<RandomStream> noise;
  for (int64_t i = 0; i < options_.batch; ++i)
    noise.emplace_back(static_cast<uint64_t>(options_.seed), Purpose::likelihood_step,
                       static_cast<uint64_t>(step * options_.batch + i));
  bool fine = true;
  for_micro_batches(options_, [&](int64_t first, int64_t count) {
    const TensorView x = samples_.view().images(first, count), grad_x = grad_x_.view().images(0, count);
    const auto energy = std::span(energy_).first(static_cast<size_t>(count));
    for (int64_t k = 0; k < options_.ml.steps && fine; ++k) {
      engine_.energy_and_gradient(x, energy, grad_x);
      parallel_for(count, 1, [&](int64_t begin, int64_t end) {
        std::vector<float> n(static_cast<size_t>(x.shape.per_image()));
        for (int64_t i = begin; i < end; ++i) {
          noise[static_cast<size_t>(first + i)].fill_normal(n);
          const std::span<float> image = x.image(i), g = grad_x.image(i);
          for (size_t p = 0; p < n.size(); ++p) image[p] += eps * (n[p] - 0.5f * eps * g[p]);
        }
      });
      fine = all_finite(x.values());
    }
  });
  return fine;
}

double LikelihoodObjective::add_energy_gradient(ConstTensorView x, double sign) {
  const auto pieces = [&](const auto& body) {
    for_micro_batches(options_, [&](int64_t first, int64_t count) {
      const auto f = static_cast<size_t>(first), c = static_cast<size_t>(count);
      body(x.images(first, count), std::span(weights_).subspan(f, c), std::span(energy_).subspan(f, c));
    });
  };
  const auto scale = 1 / static_cast<double>(options_.batch);
  std::ranges::fill(weights_, static_cast<float>(sign * scale));
  if (options_.ml.energy_l2 > 0) {  // the weights depend on the energies: one more forward pass
    pieces([&](ConstTensorView part, std::span<float>, std::span<float> e) { engine_.energy(part, e); });
    if (!all_finite(energy_)) return kNan;
    for (size_t i = 0; i < weights_.size(); ++i)
      weights_[i] += static_cast<float>(2 * scale * options_.ml.energy_l2 * static_cast<double>(energy_[i]));
  }
  pieces([&](ConstTensorView part, std::span<float> w, std::span<float> e) {
    engine_.energy_gradient(part, w, e);
  });
  return mean(energy_);
}

void LikelihoodObjective::gradient(int64_t step, ConstTensorView clean, bool, StepResult& result) {
  add_training_noise(clean, levels_, static_cast<uint64_t>(options_.seed), step, noisy_);
  observer_.on_batch(step, clean, noisy_, levels_);
  result.quarters.fill(kNan);
  result.loss = kNan;
  start_samples(step);
  if (!run_langevin(step)) return;
  result.energy_data = add_energy_gradient(noisy_, 1);
  result.energy_noise = add_energy_gradient(samples_, -1);
  result.loss = result.energy_data - result.energy_noise;
}

void LikelihoodObjective::applied() {
  if (!persistent()) return;
  for (size_t i = 0; i < drawn_.size(); ++i)
    std::ranges::copy(std::as_const(samples_).view().image(static_cast<int64_t>(i)),
                      chain(drawn_[i]).begin());
}

}  // namespace mdsm::train

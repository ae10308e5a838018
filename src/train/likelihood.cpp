#include "train/likelihood.h"

#include <algorithm>
#include <atomic>
#include <limits>

#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"
#include "sample/update.h"
#include "train/noise.h"

namespace mdsm::train {
namespace {

constexpr const char* kChains = "chains";

// Where the samplers start as well.
void fill_start(uint64_t seed, uint64_t index, std::span<float> out) {
  RandomStream(seed, Purpose::likelihood_start, index).fill_normal(out);
  for (float& value : out) value += 0.5f;
}

bool all_finite(std::span<const float> values) { return find_non_finite(values) < 0; }

}  // namespace

void LikelihoodObjective::declare(OptionSet& set) {
  set.group("Maximum likelihood");
  set.add("ml-steps", own_.steps, "Langevin steps in each training step").range(1, 1e6);
  set.add("ml-eps", own_.eps, "step size, x - eps²/2 grad_x + eps n").range(1e-6, 100);
  set.add("ml-chains", own_.chains, "chains go on from the last training step, or start from noise in each");
  set.add("ml-buffer", own_.buffer, "persistent chains kept, of which a training step takes a batch")
      .range(1, 1 << 24);
  set.add("ml-restart", own_.restart, "share of a training step's chains that start from noise again")
      .range(0, 1);
  set.add("ml-energy-l2", own_.energy_l2, "weight of the mean E² of data and samples, added to the loss")
      .range(0);
}

void LikelihoodObjective::validate(const TrainOptions& options) const {
  if (!persistent() || own_.buffer >= options.batch) return;
  fail_usage(fmt::format("give --ml-buffer {} or more, or a smaller --batch", options.batch),
             "--ml-buffer {} is less than --batch {}", own_.buffer, options.batch);
}

// The chains, and once more those of the state file while it is read.
size_t LikelihoodObjective::memory(const network::Spec& spec) const {
  return persistent() ? 2 * static_cast<size_t>(spec.input(own_.buffer).count()) * sizeof(float) : 0;
}

void LikelihoodObjective::begin(const TrainingContext& run) {
  const auto batch = static_cast<size_t>(run.options.batch);
  drawn_.resize(batch);
  levels_.assign(batch, static_cast<float>(run.options.sigma0));
  energy_.resize(batch);
  sample_energy_.resize(batch);
  weights_.resize(batch);
  noisy_ = Tensor(run.engine.spec().input(run.options.batch));
  samples_ = Tensor(run.engine.spec().input(run.options.batch));
  grad_x_ = Tensor(run.engine.spec().input(run.options.micro()));
  if (!persistent() || !chains_.empty()) return;
  chains_.resize(static_cast<size_t>(run.engine.spec().input(own_.buffer).count()));
  for (int64_t i = 0; i < own_.buffer; ++i)
    fill_start(static_cast<uint64_t>(run.options.seed), static_cast<uint64_t>(i),
               chain(static_cast<uint32_t>(i)));
}

void LikelihoodObjective::save(StateWriter& to) const {
  if (chains_.empty()) return;
  const Shape& image = samples_.shape();
  to.tensor(kChains, {own_.buffer, image.c, image.h, image.w}, chains_);
}

void LikelihoodObjective::load(StateReader& from, const network::Spec& spec) {
  if (!persistent()) return;
  const Shape kept = spec.input(own_.buffer);
  std::vector<float> found = from.tensor(kChains, std::vector<int64_t>{-1, kept.c, kept.h, kept.w});
  if (found.size() != static_cast<size_t>(kept.count()))
    fail("the file is damaged or belongs to another run",
         "the training state has chains of {} values, not {}", found.size(), kept.count());
  chains_ = std::move(found);
}

std::span<float> LikelihoodObjective::chain(uint32_t index) {
  const auto image = static_cast<size_t>(samples_.shape().per_image());
  return std::span(chains_).subspan(index * image, image);
}

// Persistent: some of the kept chains, without the same one twice, a share of them from noise again;
// otherwise all from noise. Streams of starts count on behind those of the first ones.
void LikelihoodObjective::start_samples(const TrainOptions& options, int64_t step) {
  const auto seed = static_cast<uint64_t>(options.seed);
  const auto start_index = [&](int64_t i) {
    return static_cast<uint64_t>(own_.buffer + step * options.batch + i);
  };
  std::vector<bool> anew(drawn_.size(), true);
  if (persistent()) {
    RandomStream stream(seed, Purpose::likelihood_draw, static_cast<uint64_t>(step));
    for (size_t i = 0; i < anew.size(); ++i) anew[i] = stream.uniform() < own_.restart;
    const auto order = permutation(stream, static_cast<uint32_t>(own_.buffer));
    std::copy_n(order.begin(), drawn_.size(), drawn_.begin());
  }
  parallel_for(options.batch, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const auto at = static_cast<size_t>(i);
      if (anew[at])
        fill_start(seed, start_index(i), samples_.view().image(i));
      else
        std::ranges::copy(chain(drawn_[at]), samples_.view().image(i).begin());
    }
  });
}

bool LikelihoodObjective::run_langevin(const TrainingContext& run, int64_t step) {
  std::vector<RandomStream> noise;
  for (int64_t i = 0; i < run.options.batch; ++i)
    noise.emplace_back(static_cast<uint64_t>(run.options.seed), Purpose::likelihood_step,
                       static_cast<uint64_t>(step * run.options.batch + i));
  std::atomic<bool> fine = true;
  for_micro_batches(run, [&](int64_t first, int64_t count) {
    const TensorView x = samples_.view().images(first, count), grad_x = grad_x_.view().images(0, count);
    const auto energy = std::span(energy_).first(static_cast<size_t>(count));
    for (int64_t k = 0; k < own_.steps && fine; ++k) {
      run.engine.energy_and_gradient(x, energy, grad_x);
      parallel_for(count, 1, [&](int64_t begin, int64_t end) {
        for (int64_t i = begin; i < end; ++i)
          if (!sample::langevin_step(x.image(i), grad_x.image(i), own_.eps,
                                     noise[static_cast<size_t>(first + i)]))
            fine = false;
      });
    }
  });
  run.gather(samples_.values());
  return !run.world.any(!fine);
}

bool LikelihoodObjective::add_energy_gradient(const TrainingContext& run, ImageRange shard, ConstTensorView x,
                                              double sign, std::span<float> energy) {
  const auto pieces = [&](const auto& body) {
    for_micro_batches(run.options, shard, [&](int64_t first, int64_t count) {
      const auto f = static_cast<size_t>(first), c = static_cast<size_t>(count);
      body(x.images(first, count), std::span(weights_).subspan(f, c), energy.subspan(f, c));
    });
  };
  const auto scale = 1 / static_cast<double>(run.options.batch);
  const auto first = static_cast<size_t>(shard.first), end = static_cast<size_t>(shard.end());
  for (size_t i = first; i < end; ++i) weights_[i] = static_cast<float>(sign * scale);
  if (own_.energy_l2 > 0) {  // the weights depend on the energies: one more forward pass
    pieces([&](ConstTensorView part, std::span<float>, std::span<float> e) { run.engine.energy(part, e); });
    if (!all_finite(energy.subspan(first, end - first))) return false;
    for (size_t i = first; i < end; ++i)
      weights_[i] += static_cast<float>(2 * scale * own_.energy_l2 * static_cast<double>(energy[i]));
  }
  pieces([&](ConstTensorView part, std::span<float> w, std::span<float> e) {
    run.engine.energy_gradient(part, w, e);
  });
  return true;
}

void LikelihoodObjective::gradient(const TrainingContext& run, int64_t step, ConstTensorView clean, bool,
                                   StepResult& result) {
  add_training_noise(clean, levels_, static_cast<uint64_t>(run.options.seed), step, noisy_, run.own_images());
  run.observer.on_batch(step, clean, noisy_, levels_);
  result.loss = kNan;
  start_samples(run.options, step);
  if (!run_langevin(run, step)) return;
  bool fine = true;
  for_shards(run, [&](ImageRange shard) {
    fine = add_energy_gradient(run, shard, noisy_, 1, energy_) && fine;
    fine = add_energy_gradient(run, shard, samples_, -1, sample_energy_) && fine;
  });
  fine = !run.world.any(!fine);
  run.gather(energy_);
  run.gather(sample_energy_);
  const auto mean_of = [&](const std::vector<float>& energy) {
    return fine ? mean_by_shards({0, run.options.batch}, run.options.batch, run.options.shards,
                                 [&](size_t i) { return energy[i]; })
                : kNan;
  };
  const double data = mean_of(energy_), samples = mean_of(sample_energy_);
  result.loss = data - samples;
  result.own = {{kEnergyData, "energy/data", {data}},
                {kEnergyNoise, "energy/noise", {samples}},
                // No noise levels; the lines of older runs have this field too.
                {"loss_quarters", "loss/quarter", std::vector<double>(4, kNan), true}};
}

void LikelihoodObjective::applied() {
  if (!persistent()) return;
  for (size_t i = 0; i < drawn_.size(); ++i)
    std::ranges::copy(std::as_const(samples_).view().image(static_cast<int64_t>(i)),
                      chain(drawn_[i]).begin());
}

std::string LikelihoodObjective::log_line(const StatsRecord& r) const {
  return fmt::format(
      "loss {:.2f}, energy of data {:.1f}, of samples {:.1f}, gradient {:.3g}, rate {:.3g}, {:.0f} images/s",
      r.loss, value_of(r.own, kEnergyData), value_of(r.own, kEnergyNoise), r.grad_norm, r.lr, r.images_per_s);
}

}  // namespace mdsm::train

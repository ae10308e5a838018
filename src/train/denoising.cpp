#include "train/denoising.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "core/error.h"
#include "core/json.h"

namespace mdsm::train {
namespace {

constexpr const char *kQuarters = "loss_quarters", *kEffective = "importance_effective",
                     *kAverages = "level_averages", *kAveraged = "averaged_steps";
constexpr std::array<const char*, 4> kQuarterColours = {"#1f5fa8", "#2e8b57", "#d35400", "#c0392b"};

// Levels rise along the batch, so its quarters are the quarters of the noise range.
ImageRange quarter_of(int64_t batch, int64_t quarter) { return shard_of(batch, 4, quarter); }

}  // namespace

void DenoisingObjective::declare(OptionSet& set) {
  set.group("Noise");
  set.add("noise", noise_.kind,
          "how noise levels are spread over a batch; as in the paper for its data sets");
  set.add("sigma-min", noise_.sigma_min, "lowest noise level").range(1e-6, 1e3);
  set.add("sigma-max", noise_.sigma_max, "highest noise level").range(1e-6, 1e3);
  set.add("sigma", noise_.sigma, "the level, where there is only one").range(1e-6, 1e3);
  set.add("weight-power", noise_.weight_power, "p of the objective's weight sigma^-p").range(0, 4);
  set.add("weighting", weighting_,
          "power: sigma^-p; learned: each level by the inverse of a moving average of its error");
  set.add("importance", importance_,
          "weigh each noisy image by how likely its origin is under sigma0, among the batch");
  set.add("denoiser-steps", denoiser_steps_,
          "unet: the first so many steps train the network as a plain denoiser, at half the price of an "
          "energy's")
      .range(0, 1e9);
}

void DenoisingObjective::resolve(OptionSet& set) {
  if (levels_kind_ == Levels::one) {
    if (set.given("noise") && noise_.kind != NoiseKind::single)
      fail_usage("leave --noise out", "--noise {} is not what --objective {} trains with",
                 to_string(noise_.kind), name());
    set.set_default("noise", to_string(NoiseKind::single));
    // One level is the kernel itself (the paper's L_DSM): the density is that of data with this noise.
    set.set_default("sigma0", fmt::format("{}", noise_.sigma));
  }
  if (noise_.kind == NoiseKind::single && (set.given("sigma-min") || set.given("sigma-max")))
    fail_usage("give its level with --sigma", "--sigma-min and --sigma-max mean nothing to {}",
               levels_kind_ == Levels::one ? "--objective " + name() : "--noise single");
  if (noise_.kind == NoiseKind::single && weighting_ == Weighting::learned)
    fail_usage("leave it out", "--weighting learned weighs noise levels, and {} has one",
               levels_kind_ == Levels::one ? "--objective " + name() : "--noise single");
  // What the denoiser has learned at the full rate, the energy refines while the rate falls.
  if (denoiser_steps_ > 0) set.set_default("lr-hold", fmt::format("{}", denoiser_steps_));
  if (noise_.kind != NoiseKind::single && set.given("sigma"))
    fail_usage("give --sigma-min and --sigma-max, or --objective single",
               "--sigma means nothing to --noise {}", to_string(noise_.kind));
}

void DenoisingObjective::validate(const TrainOptions& options) const {
  train::validate(noise_);
  if (denoiser_steps_ == 0) return;
  if (!network::is_image_head(options.head) || !network::has_energy(options.head))
    fail_usage("leave it out, or take --net unet with a head that is an energy",
               "--denoiser-steps {} prepares an energy on a U-Net, and this is {} with --head {}",
               denoiser_steps_, to_string(options.network), to_string(options.head));
  if (denoiser_steps_ >= options.schedule.steps)
    fail_usage("give fewer, or train --head denoiser",
               "--denoiser-steps {} leaves none of the {} steps for the energy", denoiser_steps_,
               options.schedule.steps);
}

void DenoisingObjective::begin(const TrainingContext& run) {
  levels_ = noise_levels(noise_, run.options.batch);
  weights_ = objective_weights(levels_, noise_.weight_power);
  residual_.resize(levels_.size());
  energy_.resize(levels_.size());
  noisy_ = Tensor(run.engine.spec().input(run.options.batch));
  if (learned_.steps() > 0 && learned_.averages().size() != levels_.size())
    fail("the file is damaged or belongs to another run",
         "the training state has averages of {} noise levels, not {}", learned_.averages().size(),
         levels_.size());
}

void DenoisingObjective::gradient(const TrainingContext& run, int64_t step, ConstTensorView clean,
                                  bool with_energy_of_data, StepResult& result) {
  const ImageRange images = needs_whole_batch() ? ImageRange{0, run.options.batch} : run.own_images();
  add_training_noise(clean, levels_, static_cast<uint64_t>(run.options.seed), step, noisy_, images);
  run.observer.on_batch(step, clean, noisy_, levels_);
  const double energy_data = with_energy_of_data ? mean_energy(run, clean) : 0;

  std::vector<float> weights = weighting_ == Weighting::learned ? learned_.weights(weights_) : weights_;
  std::optional<double> effective;
  if (importance_ == Importance::batch) {
    const std::vector<double> ratio = importance_weights(clean, noisy_, levels_, run.options.sigma0);
    for (size_t i = 0; i < weights.size(); ++i) weights[i] *= static_cast<float>(ratio[i]);
    effective = effective_share(ratio);
  }
  for_shards(run, [&](ImageRange shard) {
    for_micro_batches(run.options, shard, [&](int64_t first, int64_t count) {
      const auto part = [&](std::vector<float>& v) {
        return std::span(v).subspan(static_cast<size_t>(first), static_cast<size_t>(count));
      };
      const ConstTensorView x = clean.images(first, count), noisy = noisy_.view().images(first, count);
      if (trains_denoiser(step))
        run.engine.denoiser_gradient(x, noisy, part(weights), part(residual_), part(energy_));
      else
        run.engine.objective_gradient(x, noisy, part(weights), part(residual_), part(energy_));
    });
  });
  run.gather(residual_);
  run.gather(energy_);
  // The same sum with and without importance weights, so that the two can be compared.
  const int64_t batch = run.options.batch;
  result.loss = loss_of(run.options, {0, batch});
  std::vector<double> quarters;
  for (int64_t q = 0; q < 4; ++q) quarters.push_back(loss_of(run.options, quarter_of(batch, q)));
  result.own = {{kQuarters, "loss/quarter", std::move(quarters), true},
                {kEnergyData, "energy/data", {energy_data}},
                {kEnergyNoise, "energy/noise", {mean_of_energies(run.options)}}};
  if (effective) result.own.push_back({kEffective, "train/importance_effective", {*effective}});
}

// As normalised_loss(), of some images and in the order of shards. NaN of no images.
double DenoisingObjective::loss_of(const TrainOptions& options, ImageRange images) const {
  return mean_by_shards(images, options.batch, options.shards, [&](size_t i) {
    const double sigma = levels_[i];
    return residual_[i] / (sigma * sigma);
  });
}

double DenoisingObjective::mean_of_energies(const TrainOptions& options) const {
  return mean_by_shards({0, options.batch}, options.batch, options.shards,
                        [&](size_t i) { return energy_[i]; });
}

// Without the importance weights, whose mean is 1 at every level: they are for images, these for levels.
void DenoisingObjective::applied() {
  if (weighting_ == Weighting::learned) learned_.observe(residual_);
}

void DenoisingObjective::save(StateWriter& to) const {
  if (weighting_ != Weighting::learned || learned_.steps() == 0) return;
  to.tensor(kAverages, {static_cast<int64_t>(levels_.size())}, learned_.averages());
  to.values[kAveraged] = learned_.steps();
}

void DenoisingObjective::load(StateReader& from, const network::Spec&) {
  if (weighting_ != Weighting::learned || !from.values.contains(kAveraged)) return;
  std::vector<float> averages = from.tensor(kAverages, std::vector<int64_t>{-1});
  if (std::ranges::any_of(averages, [](float value) { return !(value > 0); }))
    fail("the file is damaged or belongs to another run",
         "the training state has an average error that is not positive");
  learned_.restore(std::move(averages), json_value<int64_t>(from.values.at(kAveraged)));
}

// The authors' 1e-8 is for a loss 1/sigma0⁴ as large.
double DenoisingObjective::adam_epsilon(const TrainOptions& options) const {
  return 1e-8 * std::pow(options.sigma0, 4);
}

double DenoisingObjective::mean_energy(const TrainingContext& run, ConstTensorView x) {
  for_micro_batches(run, [&](int64_t first, int64_t count) {
    run.engine.energy(x.images(first, count),
                      std::span(energy_).subspan(static_cast<size_t>(first), static_cast<size_t>(count)));
  });
  run.gather(energy_);
  return mean_of_energies(run.options);
}

std::string DenoisingObjective::log_line(const StatsRecord& r) const {
  const auto own = [&](const char* name, size_t index = 0) { return value_of(r.own, name, index); };
  const double effective = own(kEffective);
  return fmt::format(
      "loss {:.2f} ({:.1f} {:.1f} {:.1f} {:.1f}), energy of data {:.1f}, of noise {:.1f}, gradient {:.3g}, "
      "rate {:.3g}, {}{:.0f} images/s",
      r.loss, own(kQuarters, 0), own(kQuarters, 1), own(kQuarters, 2), own(kQuarters, 3), own(kEnergyData),
      own(kEnergyNoise), r.grad_norm, r.lr,
      std::isnan(effective) ? "" : fmt::format("{:.0f} % of images count, ", 100 * effective),
      r.images_per_s);
}

// Where grad_x is 0, what is left of a residual is the noise itself: sigma² for each value of an image.
std::optional<double> DenoisingObjective::flat_loss(const network::Spec& spec) const {
  return static_cast<double>(spec.input(1).count());
}

LossPanel DenoisingObjective::loss_panel(const TrainOptions& options) const {
  LossPanel panel;
  if (noise_.kind == NoiseKind::single || options.batch < 4) return panel;
  const std::vector<float> levels = noise_levels(noise_, options.batch);
  for (size_t q = 0; q < kQuarterColours.size(); ++q) {
    const ImageRange quarter = quarter_of(options.batch, static_cast<int64_t>(q));
    panel.lines.push_back({fmt::format("noise {:.2g} to {:.2g}", levels[static_cast<size_t>(quarter.first)],
                                       levels[static_cast<size_t>(quarter.end() - 1)]),
                           kQuarters, q, kQuarterColours[q]});
  }
  return panel;
}

nlohmann::json DenoisingObjective::trained() const {
  nlohmann::json values = {{"noise", to_json(noise_)}};
  if (weighting_ != Weighting::power) values["weighting"] = to_string(weighting_);
  if (importance_ != Importance::none) values["importance"] = to_string(importance_);
  if (denoiser_steps_ > 0) values["denoiser_steps"] = denoiser_steps_;
  return values;
}

nlohmann::json DenoisingObjective::sampling(const TrainOptions& options) const {
  return levels_kind_ == Levels::many ? annealed_sampling(options.sigma0) : constant_sampling(options.sigma0);
}

}  // namespace mdsm::train

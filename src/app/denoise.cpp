#include "app/denoise.h"

#include <algorithm>

#include "core/random.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

Tensor clamped(ConstTensorView x) {
  Tensor out(x.shape);
  std::ranges::transform(x.values(), out.data(), [](float value) { return std::clamp(value, 0.0f, 1.0f); });
  return out;
}

class Denoising {
 public:
  explicit Denoising(const DenoiseOptions& options)
      : options_(options),
        model_(options.pictures.use.load()),
        work_("denoise", options.pictures, options.seed) {}
  DenoiseResult run(const std::atomic<bool>& stop);

 private:
  void fit_all();
  void add_noise(int64_t picture);
  void denoise(engine::EnergyModel& engine, int64_t first, int64_t count, const json& how);
  FilterComparison compared() const;
  json parameters() const;
  void write_figure(const json& how, const std::optional<FilterComparison>& comparison) const;

  const DenoiseOptions& options_;
  network::Model model_;
  PictureWork work_;
  std::vector<data::Fitting> fittings_;
  Tensor clean_, noisy_, result_;  // (N,C,H,W) at the network's size
  std::vector<double> noise_levels_;
};

void Denoising::add_noise(int64_t picture) {
  const auto noisy = noisy_.view().image(picture), clean = clean_.view().image(picture);
  if (!(options_.add_noise > 0)) {
    std::ranges::copy(clean, noisy.begin());
    return;
  }
  RandomStream(static_cast<uint64_t>(options_.seed), Purpose::added_noise, static_cast<uint64_t>(picture))
      .fill_normal(noisy);
  for (size_t k = 0; k < noisy.size(); ++k)
    noisy[k] = clean[k] + static_cast<float>(options_.add_noise) * noisy[k];
}

void Denoising::fit_all() {
  const network::Spec& spec = model_.parameters.spec();
  const int64_t n = work_.count();
  clean_ = Tensor(spec.input(n));
  noisy_ = Tensor(spec.input(n));
  result_ = Tensor(spec.input(n));
  for (int64_t i = 0; i < n; ++i) {
    const image::Picture picture = work_.read(i);
    fittings_.emplace_back(picture.shape, spec.input(1), work_.fit_options(), work_.label(i));
    std::ranges::copy(fittings_.back().fit(picture), clean_.view().image(i).begin());
    add_noise(i);
  }
}

void Denoising::denoise(engine::EnergyModel& engine, int64_t first, int64_t count, const json& how) {
  const restore::Denoised found =
      restore::denoise(engine, noisy_.view().images(first, count), options_.denoise);
  std::ranges::copy(clamped(found.x).values(), result_.view().images(first, count).values().begin());
  noise_levels_.insert(noise_levels_.end(), found.sigma.begin(), found.sigma.end());
  for (int64_t i = first; i < first + count; ++i)
    work_.write_result(i, 0,
                       fittings_[static_cast<size_t>(i)].put_back(result_.view().image(i), work_.read(i)),
                       picture_text(how));
}

// The filters see what the network saw, values outside [0,1] included, and all results are clamped alike.
FilterComparison Denoising::compared() const {
  return {restore::psnr(noisy_, clean_), restore::psnr(clamped(noisy_), clean_),
          restore::psnr(result_, clean_), restore::best_median(noisy_, clean_),
          restore::best_gaussian(noisy_, clean_)};
}

json Denoising::parameters() const {
  json values = model_parameters(options_.pictures.use.model, model_);
  values.update({{"command", "denoise"}, {"steps", options_.denoise.steps}});
  if (options_.denoise.steps > 1) values["share"] = options_.denoise.share;
  if (options_.add_noise > 0) values.update({{"add-noise", options_.add_noise}, {"seed", options_.seed}});
  return values;
}

void Denoising::write_figure(const json& how, const std::optional<FilterComparison>& comparison) const {
  const int64_t shown = std::min(work_.count(), kMaxInFigure);
  std::vector<const Tensor*> rows = {&noisy_, &result_};
  if (comparison) rows = {&clean_, &noisy_, &comparison->median.x, &comparison->gaussian.x, &result_};
  Tensor cells(clean_.shape().with_n(shown * static_cast<int64_t>(rows.size())));
  float* at = cells.data();
  for (const Tensor* row : rows) at = std::ranges::copy(row->view().images(0, shown).values(), at).out;
  const char* names = comparison ? "clean, noisy, median, Gaussian, denoised" : "given, denoised";
  work_.write_figure(cells, shown, picture_text(how, {{"Rows", names}}));
}

DenoiseResult Denoising::run(const std::atomic<bool>& stop) {
  const ModelUse& use = options_.pictures.use;
  fit_all();
  const auto engine = use.make(model_, std::min(use.batch, work_.count()));
  work_.prepare_output(0);
  const json how = parameters();
  in_batches("denoising", work_.count(), use.batch, "pictures", stop,
             [&](int64_t first, int64_t count, const sample::Observer&) {
               denoise(*engine, first, count, how);
               return true;
             });
  DenoiseResult result{options_.pictures.out, how, {}, noise_levels_, {}};
  for (int64_t i = 0; i < work_.count(); ++i)
    result.pictures.push_back(work_.entry(i, fittings_[static_cast<size_t>(i)]));
  if (options_.add_noise > 0) result.comparison = compared();
  write_figure(how, result.comparison);
  work_.write_report(to_json(result));
  return result;
}

}  // namespace

DenoiseResult run_denoise(const DenoiseOptions& options, const std::atomic<bool>& stop) {
  return Denoising(options).run(stop);
}

}  // namespace mdsm::app

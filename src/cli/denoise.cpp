// mdsm denoise: removes noise of a level it is not told, in one jump or in several steps. With noise of its
// own making it knows the truth, and compares with classical filters.
#include <algorithm>
#include <cmath>

#include "cli/command.h"
#include "cli/picture_job.h"
#include "core/error.h"
#include "core/random.h"
#include "restore/denoise.h"
#include "restore/filters.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

json number_or_null(double value) { return std::isfinite(value) ? json(value) : json(); }

double mean(const auto& values) {
  double sum = 0;
  for (const auto value : values) sum += static_cast<double>(value);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

Tensor clamped(ConstTensorView x) {
  Tensor out(x.shape);
  std::ranges::transform(x.values(), out.data(), [](float value) { return std::clamp(value, 0.0f, 1.0f); });
  return out;
}

class Denoise : public Command {
 public:
  const char* name() const override { return "denoise"; }
  const char* summary() const override { return "Remove noise of unknown strength from pictures"; }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  void fit_all(const network::Spec& spec);
  void work(engine::TrainableEnergy& engine, int64_t first, int64_t count, const std::map<std::string, std::string>& text);
  void compare();
  bool demo() const { return add_noise_ > 0; }
  json parameters(const network::Model& model) const;
  json report(const json& how) const;
  void write_figure(const std::map<std::string, std::string>& text) const;
  void print() const;

  PictureJob job_{"denoise"};
  restore::DenoiseOptions denoise_;
  double add_noise_ = 0;
  int64_t seed_ = 0;
  std::vector<data::Fitting> fittings_;
  Tensor clean_, noisy_, result_;  // (N,C,H,W) at the network's size
  std::vector<double> sigma_;
  // With --add-noise, PSNR of each picture; all of images clamped to [0,1] but for the first.
  std::vector<double> unclamped_, before_, after_;
  restore::FilterResult median_, gaussian_;
};

void Denoise::declare(OptionSet& options) {
  job_.declare_pictures(options);
  options.group("Denoising");
  options
      .add("steps", denoise_.steps,
           "1: one jump, best for weak noise; more: partial steps before it, sharper, and better for strong "
           "noise")
      .range(1, 100000);
  options.add("share", denoise_.share, "part of the noise that each partial step removes").range(0.01, 1);
  options
      .add("add-noise", add_noise_,
           "put Gaussian noise of this strength on the pictures first, and compare with median and Gaussian "
           "filters")
      .range(0, 100);
  options.add("seed", seed_, "of the added noise, and of data drawn by chance").range(0, 9e15);
  job_.declare_output(options);
  options.example("mdsm denoise noisy/ --model runs/00000 --out clean");
  options.example(
      "mdsm denoise --data fashion-mnist --split test --limit 8 --model runs/00000 --add-noise 0.3");
}

void Denoise::fit_all(const network::Spec& spec) {
  const int64_t n = job_.count();
  clean_ = Tensor(spec.input(n));
  noisy_ = Tensor(spec.input(n));
  result_ = Tensor(spec.input(n));
  for (int64_t i = 0; i < n; ++i) {
    const image::Image picture = job_.pictures().read(static_cast<size_t>(i));
    fittings_.emplace_back(picture, spec.input(1), job_.fit_options(),
                           job_.pictures().labels[static_cast<size_t>(i)]);
    std::ranges::copy(fittings_.back().fit(picture), clean_.view().image(i).begin());
    const auto noisy = noisy_.view().image(i), clean = clean_.view().image(i);
    RandomStream(static_cast<uint64_t>(seed_), Purpose::added_noise, static_cast<uint64_t>(i))
        .fill_normal(noisy);
    for (size_t k = 0; k < noisy.size(); ++k)
      noisy[k] = add_noise_ > 0 ? clean[k] + static_cast<float>(add_noise_) * noisy[k] : clean[k];
  }
}

void Denoise::work(engine::TrainableEnergy& engine, int64_t first, int64_t count,
                   const std::map<std::string, std::string>& text) {
  restore::Denoised found = restore::denoise(engine, noisy_.view().images(first, count), denoise_);
  std::ranges::copy(clamped(found.x).values(), result_.view().images(first, count).values().begin());
  sigma_.insert(sigma_.end(), found.sigma.begin(), found.sigma.end());
  for (int64_t i = first; i < first + count; ++i) {
    const image::Image picture = job_.pictures().read(static_cast<size_t>(i));
    job_.write_result(i, 0, 0, fittings_[static_cast<size_t>(i)].put_back(result_.view().image(i), picture),
                      text);
  }
}

// The filters see what the network saw, values outside [0,1] included, and all results are clamped alike.
void Denoise::compare() {
  unclamped_ = restore::psnr(noisy_, clean_);
  before_ = restore::psnr(clamped(noisy_), clean_);
  after_ = restore::psnr(result_, clean_);
  median_ = restore::best_median(noisy_, clean_);
  gaussian_ = restore::best_gaussian(noisy_, clean_);
}

json Denoise::parameters(const network::Model& model) const {
  json values = app::model_parameters(job_.use.model, model);
  values.update({{"command", "denoise"}, {"steps", denoise_.steps}});
  if (denoise_.steps > 1) values["share"] = denoise_.share;
  if (demo()) values.update({{"add-noise", add_noise_}, {"seed", seed_}});
  return values;
}

void Denoise::write_figure(const std::map<std::string, std::string>& text) const {
  const int64_t shown = std::min(job_.count(), PictureJob::kMaxInFigure);
  std::vector<const Tensor*> rows = {&noisy_, &result_};
  if (demo()) rows = {&clean_, &noisy_, &median_.x, &gaussian_.x, &result_};
  Tensor cells(clean_.shape().with_n(shown * static_cast<int64_t>(rows.size())));
  float* at = cells.data();
  for (const Tensor* row : rows) at = std::ranges::copy(row->view().images(0, shown).values(), at).out;
  job_.write_figure(cells, shown, text);
}

json Denoise::report(const json& how) const {
  json pictures = json::array();
  for (size_t i = 0; i < sigma_.size(); ++i) {
    pictures.push_back({{"name", job_.pictures().names[i].string()},
                        {"from", job_.pictures().labels[i]},
                        {"noise_level", sigma_[i]},
                        {"fitted", fittings_[i].text()}});
    if (demo())
      pictures.back().update({{"psnr_before_unclamped", number_or_null(unclamped_[i])},
                              {"psnr_before", number_or_null(before_[i])},
                              {"psnr_median", number_or_null(median_.psnr[i])},
                              {"psnr_gaussian", number_or_null(gaussian_.psnr[i])},
                              {"psnr_after", number_or_null(after_[i])}});
  }
  json summary = {{"n", sigma_.size()}, {"noise_level", mean(sigma_)}};
  if (demo())
    summary.update({{"psnr_before_unclamped", number_or_null(mean(unclamped_))},
                    {"psnr_before", number_or_null(mean(before_))},
                    {"psnr_median", number_or_null(median_.mean_psnr)},
                    {"psnr_gaussian", number_or_null(gaussian_.mean_psnr)},
                    {"psnr_after", number_or_null(mean(after_))},
                    {"median_size", static_cast<int64_t>(median_.setting)},
                    {"gaussian_width", gaussian_.setting},
                    {"filters", "chosen by the truth"}});
  return {{"parameters", how}, {"pictures", pictures}, {"summary", summary}};
}

void Denoise::print() const {
  constexpr const char* kRatios = "  {:>10.2f}  {:>6.2f}  {:>8.2f}  {:>8.2f}\n";
  fmt::print("{:<40} noise level{}\n", "picture", demo() ? "  PSNR noisy  median  Gaussian  denoised" : "");
  for (size_t i = 0; i < std::min(sigma_.size(), PictureJob::kMaxListed); ++i) {
    fmt::print("{:<40} {:>11.4f}", job_.pictures().names[i].string(), sigma_[i]);
    if (demo())
      fmt::print(kRatios, before_[i], median_.psnr[i], gaussian_.psnr[i], after_[i]);
    else
      fmt::print("\n");
    if (const std::string fitted = fittings_[i].text(); !fitted.empty()) fmt::print("  {}\n", fitted);
  }
  if (sigma_.size() > PictureJob::kMaxListed)
    fmt::print("... and {} more, all in denoise.json\n", sigma_.size() - PictureJob::kMaxListed);
  if (sigma_.size() > 1) {
    fmt::print("{:<40} {:>11.4f}", fmt::format("mean of {}", sigma_.size()), mean(sigma_));
    if (demo())
      fmt::print(kRatios, mean(before_), median_.mean_psnr, gaussian_.mean_psnr, mean(after_));
    else
      fmt::print("\n");
  }
  if (demo())
    fmt::print(
        "PSNR in dB, of images clamped to [0,1] (noisy before clamping: {:.2f}). Median {} x {} and Gaussian "
        "of "
        "width {}\nare the best of {} and {}, chosen by looking at the truth, in favour of the filters.\n",
        mean(unclamped_), median_.setting, median_.setting, gaussian_.setting, std::size(restore::kMedianSizes),
        std::size(restore::kGaussianWidths));
  fmt::print("written to {}\n", job_.out());
}

int Denoise::run(OptionSet& options) {
  if (denoise_.steps == 1 && options.given("share"))
    fail_usage("use --steps 2 or more with it", "--share has no meaning for one jump");
  const network::Model model = job_.use.load();
  const network::Spec& spec = model.parameters.spec();
  job_.data.seed = static_cast<uint64_t>(seed_);
  job_.open();
  fit_all(spec);
  const auto engine = job_.use.make(model, std::min(job_.use.batch, job_.count()));
  job_.prepare_output(0);
  const json how = parameters(model);
  in_batches("denoising", job_.count(), job_.use.batch, "pictures",
             [&](int64_t first, int64_t count, const BatchControl&) {
               work(*engine, first, count, app::picture_text(how));
               return true;
             });
  if (demo()) compare();
  write_figure(
      app::picture_text(how, {{"Rows", demo() ? "clean, noisy, median, Gaussian, denoised" : "given, denoised"}}));
  job_.write_report(report(how));
  if (!job_.prints_json()) print();
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_denoise() { return std::make_unique<Denoise>(); }

}  // namespace mdsm::cli

// The result of denoising pictures for people and for machines.
#include <algorithm>

#include "app/denoise.h"
#include "core/json.h"
#include "core/mean.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

void print_ratios(double noisy, double median, double gaussian, double denoised) {
  fmt::print("  {:>10.2f}  {:>6.2f}  {:>8.2f}  {:>8.2f}", noisy, median, gaussian, denoised);
}

void print_pictures(const DenoiseResult& result) {
  const size_t n = result.pictures.size();
  const auto& compared = result.comparison;
  fmt::print("{:<40} noise level{}\n", "picture", compared ? "  PSNR noisy  median  Gaussian  denoised" : "");
  for (size_t i = 0; i < std::min(n, kMaxListed); ++i) {
    fmt::print("{:<40} {:>11.4f}", result.pictures[i].name, result.noise_levels[i]);
    if (compared)
      print_ratios(compared->noisy[i], compared->median.psnr[i], compared->gaussian.psnr[i],
                   compared->denoised[i]);
    fmt::print("\n");
    if (!result.pictures[i].fitted.empty()) fmt::print("  {}\n", result.pictures[i].fitted);
  }
  if (n > kMaxListed) fmt::print("... and {} more, all in denoise.json\n", n - kMaxListed);
  if (n < 2) return;
  fmt::print("{:<40} {:>11.4f}", fmt::format("mean of {}", n), mean(result.noise_levels));
  if (compared)
    print_ratios(mean(compared->noisy), compared->median.mean_psnr, compared->gaussian.mean_psnr,
                 mean(compared->denoised));
  fmt::print("\n");
}

json summary(const DenoiseResult& result) {
  json values = {{"n", result.pictures.size()}, {"noise_level", mean(result.noise_levels)}};
  if (const auto& compared = result.comparison)
    values.update({{"psnr_before_unclamped", number_or_null(mean(compared->noisy_unclamped))},
                   {"psnr_before", number_or_null(mean(compared->noisy))},
                   {"psnr_median", number_or_null(compared->median.mean_psnr)},
                   {"psnr_gaussian", number_or_null(compared->gaussian.mean_psnr)},
                   {"psnr_after", number_or_null(mean(compared->denoised))},
                   {"median_size", static_cast<int64_t>(compared->median.setting)},
                   {"gaussian_width", compared->gaussian.setting},
                   {"filters", "chosen by the truth"}});
  return values;
}

}  // namespace

json to_json(const DenoiseResult& result) {
  json pictures = json::array();
  for (size_t i = 0; i < result.pictures.size(); ++i) {
    const PictureEntry& one = result.pictures[i];
    pictures.push_back({{"name", one.name},
                        {"from", one.from},
                        {"noise_level", result.noise_levels[i]},
                        {"fitted", one.fitted}});
    if (const auto& compared = result.comparison)
      pictures.back().update({{"psnr_before_unclamped", number_or_null(compared->noisy_unclamped[i])},
                              {"psnr_before", number_or_null(compared->noisy[i])},
                              {"psnr_median", number_or_null(compared->median.psnr[i])},
                              {"psnr_gaussian", number_or_null(compared->gaussian.psnr[i])},
                              {"psnr_after", number_or_null(compared->denoised[i])}});
  }
  return {{"parameters", result.parameters}, {"pictures", pictures}, {"summary", summary(result)}};
}

void print(const DenoiseResult& result) {
  print_pictures(result);
  if (const auto& compared = result.comparison)
    fmt::print(
        "PSNR in dB, of images clamped to [0,1] (noisy before clamping: {:.2f}). Median {} x {} and Gaussian "
        "of width {}\nare the best of {} and {}, chosen by looking at the truth, in favour of the filters.\n",
        mean(compared->noisy_unclamped), compared->median.setting, compared->median.setting,
        compared->gaussian.setting, std::size(restore::kMedianSizes), std::size(restore::kGaussianWidths));
  fmt::print("written to {}\n", result.out);
}

}  // namespace mdsm::app

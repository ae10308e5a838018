// Denoising pictures: what `mdsm denoise` does. With noise of its own making it knows the truth, and compares
// with classical filters.
#pragma once

#include <optional>

#include "app/picture_work.h"
#include "restore/denoise.h"
#include "restore/filters.h"

namespace mdsm::app {

struct DenoiseOptions {
  PictureOptions pictures;
  restore::DenoiseOptions denoise;
  double add_noise = 0;  // standard deviation of Gaussian noise put on the pictures first
  int64_t seed = 0;      // of that noise, and of data drawn at random
};

// PSNR of each picture; all of images clamped to [0,1] but for the first.
struct FilterComparison {
  std::vector<double> noisy_unclamped, noisy, denoised;
  restore::FilterResult median, gaussian;
};

struct DenoiseResult {
  std::string out;
  nlohmann::json parameters;
  std::vector<PictureEntry> pictures;
  std::vector<double> noise_levels;            // of each picture, as the network sees it
  std::optional<FilterComparison> comparison;  // where noise was added
};

// Writes the results, a figure and the report to the output folder.
DenoiseResult run_denoise(const DenoiseOptions& options, const std::atomic<bool>& stop);
nlohmann::json to_json(const DenoiseResult& result);
void print(const DenoiseResult& result);

}  // namespace mdsm::app

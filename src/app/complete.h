// Completing pictures with missing pixels: what `mdsm inpaint` and `mdsm restore --task missing` do. Missing
// pixels are blackened before anything else happens to a picture, so that nothing computed from it can depend
// on them; the picture as it was is read again only for the figure and for PSNR.
#pragma once

#include "app/missing_pixels.h"
#include "app/picture_sampling.h"
#include "app/picture_work.h"

namespace mdsm::app {

struct CompleteOptions {
  std::string command = "inpaint";  // name of the report
  PictureOptions pictures;
  MissingOptions missing;
  ChooseSampling sampling;  // without it the fast sampler with its own defaults
  int64_t completions = 4;  // of each picture
  int64_t seed = 0;         // of the first completion, and of random missing pixels
};

struct CompletedPicture {
  PictureEntry picture;
  double missing = 0;        // share of its pixels
  int64_t scales = 0;        // coarser ones that were completed first
  std::vector<double> psnr;  // of each completion against the picture as given; infinity when equal
};

struct CompleteResult {
  std::string command, out;
  nlohmann::json parameters;
  int64_t completions = 0, gradient_evaluations = 0;
  std::vector<CompletedPicture> pictures;
};

// Writes the completions, a figure and the report to the output folder.
CompleteResult run_complete(const CompleteOptions& options, const std::atomic<bool>& stop);
nlohmann::json to_json(const CompleteResult& result);
void print(const CompleteResult& result);

}  // namespace mdsm::app

// Completing pictures with missing pixels: what `mdsm inpaint` and `mdsm restore --task missing` do. Hidden
// pixels are blackened before anything else happens to a picture, so that nothing computed from it can depend
// on them; the picture as it was is read again only for the figure and for the figures of merit.
#pragma once

#include "cli/mask_choice.h"
#include "cli/picture_job.h"
#include "app/sampler_options.h"

namespace mdsm::cli {

struct CompletionSetup {
  PictureJob& job;
  MaskChoice& mask;
  app::SamplerOptions& sampler;
  const char* command;
  int64_t completions = 1, seed = 0;
};

int run_completion(OptionSet& options, const CompletionSetup& setup);

}  // namespace mdsm::cli

// The likelihood of images from their energies and both bounds of log Z: log p(x) = -E(x) - log Z.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>

#include "eval/ais_run.h"
#include "eval/log_z.h"

namespace mdsm::eval {

// One side of the likelihood, a mean over images: nats an image, bits a dimension in both pixel conventions.
struct LogLikelihood {
  double nats = 0, error = 0;  // standard error: of the energies and of log Z together
  BitsPerDim bits;
  double bits_error = 0;
};

struct Likelihood {
  int64_t dimensions = 0, distributions = 0;
  std::optional<LogZ> forward, reverse;
  double forward_acceptance = 0, reverse_acceptance = 0;
  std::optional<Mean> energy;  // of the images
  // log Z from below gives a likelihood that is too high; the reverse mean gives one that is too low, as far
  // as the reverse chains began at samples of the model.
  std::optional<LogLikelihood> highest, lowest;
  // Mean of -E(x) - log w over the reverse chains, each with the image it began at: what the paper reports.
  std::optional<LogLikelihood> paired;

  std::optional<double> gap() const;  // upper minus lower bound of log Z in nats
};

// energies: of the images, may be empty. `on_images`: the reverse chains began at images, not at samples.
Likelihood likelihood_of(const AisRun& run, const AisPlan& plan, int64_t dimensions,
                         std::span<const float> energies, bool on_images);

nlohmann::json to_json(const Likelihood& result);

}  // namespace mdsm::eval

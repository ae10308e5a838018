#include "train/objective.h"

#include <numeric>

#include "train/denoising.h"
#include "train/likelihood.h"

namespace mdsm::train {

std::unique_ptr<Objective> make_objective(engine::TrainableEnergy& engine, const TrainOptions& options,
                                          std::vector<float>& chains, TrainObserver& observer) {
  if (options.objective == "ml")
    return std::make_unique<LikelihoodObjective>(engine, options, chains, observer);
  return std::make_unique<DenoisingObjective>(engine, options, observer);
}

double mean(std::span<const float> values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

}  // namespace mdsm::train

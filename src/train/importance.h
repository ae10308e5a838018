// The weight q_sigma0(x|x~) / q_M(x|x~) that the paper's objective leaves out: how much more likely, or less,
// the image x is the origin of the noisy x~ under the one kernel sigma0 than under the mixture of all noise
// levels that x~ was made with. Both posteriors are taken over the images of the batch (docs/training.md).
#pragma once

#include <span>
#include <vector>

#include "core/enum_names.h"
#include "core/tensor.h"

namespace mdsm::train {

enum class Importance { none, batch };  // batch: weights from the posteriors over the batch
constexpr auto enum_names(Importance) {
  return names_of<Importance>({{Importance::none, "none"}, {Importance::batch, "batch"}});
}

// One weight per element of the batch, divided by their mean. noisy_i was made from clean_i; `levels` are
// those of the batch, lowest first, and each of them could have made any x~. All zero when no
// image is a likely origin of its own x~.
std::vector<double> importance_weights(ConstTensorView clean, ConstTensorView noisy,
                                       std::span<const float> levels, double sigma0);

// (sum w)² / (n sum w²): 1 when all weights are equal, 1/n when one of them has everything.
double effective_share(std::span<const double> weights);

// log 1/K sum_l N(x~; x, sigma_l²) without the factors of 2 pi, from the squared distance in d dimensions.
double log_mixture(double squared_distance, double dimensions, std::span<const float> levels);

}  // namespace mdsm::train

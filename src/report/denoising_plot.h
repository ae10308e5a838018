// The picture of `mdsm likelihood --method denoising`: the loss at every noise level.
#pragma once

#include <string>

#include "eval/denoising_bound.h"

namespace mdsm::report {

// The area under the line, over the logarithm of the noise, is the integral of the bound.
std::string denoising_plot(const eval::DenoisingBound& bound);

}  // namespace mdsm::report

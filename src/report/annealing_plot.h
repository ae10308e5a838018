// The picture of `mdsm likelihood`: what the chains did along the path.
#pragma once

#include <string>

#include "eval/ais_run.h"

namespace mdsm::report {

// Mean of E - E_ref (whose integral over beta is -log Z), acceptance and leapfrog step at each distribution.
std::string annealing_plot(const eval::AisRun& run, const eval::AisPlan& plan);

}  // namespace mdsm::report

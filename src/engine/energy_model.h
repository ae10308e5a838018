// What can be sampled, integrated and scored: <mdsm/energy_model.h> says all there is to say. A formula is as
// good an energy as a network (tests/sample/analytic_energy.h).
#pragma once

#include <mdsm/energy_model.h>

#include "core/tensor.h"

namespace mdsm::engine {

using mdsm::EnergyModel;

}  // namespace mdsm::engine

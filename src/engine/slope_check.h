// An engine's gradients against central differences of what they are gradients of: a check that needs no
// second engine. Both go along the gradient itself, where the change is largest and float32 leaves the most
// digits.
#pragma once

#include "engine/check_engine.h"

namespace mdsm::engine {

// Length of grad_x against the slope of E along it; the worst image.
Difference input_slope(EnergyModel& model, ConstTensorView x, double tolerance);

// Length of the parameter gradient against the slope of the objective along it. Leaves weights and gradient
// as they were.
Difference objective_slope(TrainableEnergy& engine, ConstTensorView x, ConstTensorView noisy,
                           std::span<const float> weight, double tolerance);

}  // namespace mdsm::engine

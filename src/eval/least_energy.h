// What is added to mean squares before their logarithm is taken.
#pragma once

namespace mdsm::eval {

constexpr double kLeastEnergy = 1e-8;  // a change of a pixel by 1e-4, far below a grey level

}  // namespace mdsm::eval

// How rare a value is among those of good images, and several such numbers as one.
#pragma once

#include <span>

namespace mdsm::eval {

// Minus the logarithm of the share of good images that would be as high. usual: values of some of them,
// ascending, at least one. Among the highest tenth of them and beyond, that share is taken to fall
// exponentially, by their mean distance from its beginning.
double surprise(std::span<const float> usual, double value);

// Their mean with these weights, of the power 1.5: several surprises count together, one large one counts for
// more than its share, and a measure that sees nothing takes little away.
double joint_surprise(std::span<const double> surprises, std::span<const double> weights);

}  // namespace mdsm::eval

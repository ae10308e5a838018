// The images of <mdsm/tensor.h>, and what is asked of them inside.
#pragma once

#include <mdsm/tensor.h>

namespace mdsm {

// Index of the first NaN or infinity, or -1.
int64_t find_non_finite(std::span<const float> values);

}  // namespace mdsm

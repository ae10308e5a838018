// What some engines can do beside TrainableEnergy: tell, while a gradient by the parameters is computed, how
// much of it is final, so that this part can be sent to other processes already.
#pragma once

#include <cstddef>
#include <functional>
#include <span>

namespace mdsm::engine {

class GradientProgress {
 public:
  // All values of the flat gradient vector from `from` on have got everything that this call adds to them. It
  // falls during a call, and the last time it is 0. The values stay where they are until the next call.
  using Told = std::function<void(size_t from, std::span<const float> gradient)>;
  virtual ~GradientProgress() = default;
  virtual void tell_progress(Told told) = 0;  // an empty function ends it
};

}  // namespace mdsm::engine

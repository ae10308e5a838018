// How long calls tell how far they are, and how they are stopped.
#pragma once

#include <cstdint>
#include <functional>

namespace mdsm {

struct ProgressReport {
  int64_t done = 0, total = 0;  // images, or training steps
  double value = 0;             // drawing: the mean noise level; training: the loss of the last step
};

// Called in the thread that made the call, some ten to thousand times a second. false stops: drawing throws
// Cancelled; training saves its state and returns. What it throws goes through to the caller.
using OnProgress = std::function<bool(const ProgressReport&)>;

}  // namespace mdsm

// From the log weights of annealed chains to log Z, and from there to the likelihood of images in the units
// people report.
#pragma once

#include <span>

#include "eval/ais.h"
#include "eval/mean.h"

namespace mdsm::eval {

struct LogZ {
  Direction direction = Direction::forward;
  int64_t n = 0;  // chains
  // Mean of log w: in expectation below log Z forwards and above it backwards.
  double bound = 0, bound_error = 0;  // error: standard error of the mean; all errors are NaN for one chain
  double std = 0;                     // of log w
  // log of the mean of w forwards, minus log of the mean of 1/w backwards: on the same side, and closer; its
  // noise is that of the largest weights.
  double estimate = 0, estimate_error = 0;  // error: by the delta method; too small where ess is near 1
  double ess = 0;                           // (sum w)² / sum w², of w or 1/w
};

LogZ estimate_log_z(std::span<const double> log_weights, Direction direction);

// -log p in bits per dimension. Pixels in [0,1] as the network takes them; in [0,255] the same density of
// 255 x, which is log2(255) = 7.99 bits more.
struct BitsPerDim {
  double unit = 0, byte = 0;
};
BitsPerDim bits_per_dim(double log_p, int64_t dimensions);

}  // namespace mdsm::eval

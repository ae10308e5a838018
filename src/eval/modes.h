// Which of the modes of a stacked set samples show: every channel holds one digit, a classifier for one
// channel reads each, and channel values a, b, c make mode 100a + 10b + c.
#pragma once

#include <functional>
#include <span>

#include "classify/classifier.h"

namespace mdsm::eval {

struct ModeCount {
  int64_t n = 0, modes = 0, covered = 0;
  double divergence = 0;        // KL from the modes' shares to the uniform distribution, in nats
  double expected_uniform = 0;  // modes that n draws from the uniform distribution cover on average
  std::vector<int64_t> counts;  // (modes)
};

ModeCount count_modes(std::span<const int> found, int64_t modes);

// The mode of every image: the classes of its channels as the digits of a number, the first channel first.
std::vector<int> stacked_modes(const classify::Classifier& classifier, const data::Dataset& data,
                               const std::function<void(int64_t)>& done = {});
// How often each of classes^channels modes shows.
ModeCount count_stacked_modes(const classify::Classifier& classifier, const data::Dataset& data,
                              const std::function<void(int64_t)>& done = {});

}  // namespace mdsm::eval

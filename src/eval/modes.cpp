#include "eval/modes.h"

#include <cmath>

#include "core/error.h"
#include "data/channels.h"

namespace mdsm::eval {

std::vector<int> stacked_modes(const classify::Classifier& classifier, const data::Dataset& data,
                               const std::function<void(int64_t)>& done) {
  const int64_t channels = data.image_shape().c;
  const double modes = std::pow(static_cast<double>(classifier.spec.classes), static_cast<double>(channels));
  if (classifier.spec.input.c != 1)
    fail("use a classifier of grey digits", "a classifier of {} channels, where each is read alone",
         classifier.spec.input.c);
  if (channels < 2 || modes > 1e6)
    fail("use images of three channels, one digit in each", "{}: {} channel{} of {} classes",
         data.description(), channels, channels == 1 ? "" : "s", classifier.spec.classes);
  const data::Channels single({std::shared_ptr<const data::Dataset>(), &data});  // borrowed: data outlives it
  const auto classes = classify::most_likely(classify::classify(classifier, single,
                                                                [&](int64_t n) {
                                                                  if (done) done(n / channels);
                                                                })
                                                 .probabilities,
                                             classifier.spec.classes);
  std::vector<int> found(static_cast<size_t>(data.size()));
  for (size_t i = 0; i < classes.size(); ++i) {
    int& mode = found[i / static_cast<size_t>(channels)];
    mode = mode * static_cast<int>(classifier.spec.classes) + classes[i];
  }
  return found;
}

ModeCount count_modes(std::span<const int> found, int64_t modes) {
  ModeCount count;
  count.n = static_cast<int64_t>(found.size());
  count.modes = modes;
  count.counts.assign(static_cast<size_t>(modes), 0);
  for (const int mode : found) {
    if (mode < 0 || mode >= modes) fail("this is a bug in the caller", "mode {} of {}", mode, modes);
    ++count.counts[static_cast<size_t>(mode)];
  }
  const auto n = static_cast<double>(count.n), all = static_cast<double>(modes);
  for (const int64_t times : count.counts) {
    if (times == 0) continue;
    ++count.covered;
    const double share = static_cast<double>(times) / n;
    count.divergence += share * std::log(share * all);
  }
  count.expected_uniform = all * (1 - std::pow(1 - 1 / all, n));
  return count;
}

ModeCount count_stacked_modes(const classify::Classifier& classifier, const data::Dataset& data,
                              const std::function<void(int64_t)>& done) {
  const std::vector<int> found = stacked_modes(classifier, data, done);
  int64_t modes = 1;
  for (int64_t c = 0; c < data.image_shape().c; ++c) modes *= classifier.spec.classes;
  return count_modes(found, modes);
}

}  // namespace mdsm::eval

#include "sample/fast_sampler.h"

#include <algorithm>

#include "core/error.h"
#include "network/trained_noise.h"
#include "sample/annealed_sampler.h"

namespace mdsm::sample {

using nlohmann::json;

namespace {
constexpr double kMaxStart = 3;  // noise that hides everything in an image of [0,1]
}

void declare_noise_start(OptionSet& options, double& sigma_max, int64_t& hot) {
  options
      .add("hot", hot, "first steps that put back all the noise they remove, so that the start is forgotten")
      .range(0, 1e7);
  options
      .add("sigma-max", sigma_max,
           "noise level of the start; by default the highest of the model's training, at most 3")
      .range(1e-6, 1000);
}

void take_noise_range(OptionSet& options, const json& info, double sigma_min) {
  if (const auto trained = network::trained_noise(info); trained && trained->max > sigma_min)
    options.set_default("sigma-max", fmt::format("{}", std::min(trained->max, kMaxStart)));
}

void check_noise_levels(double sigma_min, double sigma_max) {
  if (!(sigma_max > sigma_min))
    fail_usage("the levels go down", "--sigma-min {} is not below --sigma-max {}", sigma_min, sigma_max);
}

void FastSampler::declare(OptionSet& options) {
  options.add("steps", options_.evaluations, "most gradient evaluations of a sample").range(0, 1e7);
  options.add("h0", options_.h0, "share of the noise removed in the first step").range(0.0001, 1);
  options.add("beta", options_.beta, "1 puts no fresh noise in, 0 as much as was removed").range(0, 1);
  options.add("sigma-end", options_.sigma_end, "noise level at which a sample is done").range(0, 1000);
  declare_noise_start(options, options_.sigma_max, options_.hot);
  declare_jump(options, options_.jump);
}

void FastSampler::resolve(OptionSet& options, const json& info) {
  take_noise_range(options, info, OdeOptions{}.sigma_min);
  check_steps_given(options, options_.evaluations);
}

}  // namespace mdsm::sample

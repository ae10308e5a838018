#include "network/parameters.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/random.h"

namespace mdsm::network {

Parameters::Parameters(const Spec& spec)
    : spec_(spec),
      layout_(parameter_layout(spec)),
      values_(static_cast<size_t>(parameter_count(spec)), 0.0f) {
  validate(spec);
}

Parameters Parameters::initialised(const Spec& spec, uint64_t seed) {
  Parameters parameters = random(spec, seed);
  for (const ParameterInfo& info : parameters.layout_)
    if (info.zero) std::ranges::fill(parameters.at(info), 0.0f);
  return parameters;
}

Parameters Parameters::random(const Spec& spec, uint64_t seed) {
  Parameters parameters(spec);
  // Kaiming-uniform with a = sqrt(5) is uniform in ±1/sqrt(fan_in), the same bound as for the biases.
  for (size_t i = 0; i < parameters.layout_.size(); ++i) {
    const ParameterInfo& info = parameters.layout_[i];
    const float bound = 1.0f / std::sqrt(static_cast<float>(info.fan_in));
    RandomStream(seed, Purpose::initialisation, i).fill_uniform(parameters.at(info), -bound, bound);
  }
  return parameters;
}

Parameters Parameters::at_size(int64_t height, int64_t width) const {
  const Shape own = spec_.input(1);
  if (own.h == height && own.w == width) return *this;
  if (!spec_.any_size())
    fail_usage("fit the images (--crop, --resize, --pad), or use a model of --net unet",
               "{} takes images of {}x{} pixels and no others, not {}x{}", to_string(spec_.network), own.w,
               own.h, width, height);
  Spec spec = spec_;
  spec.rows = height;
  spec.columns = width;
  validate(spec);
  Parameters other = *this;  // no parameter depends on the size
  other.spec_ = spec;
  return other;
}

const ParameterInfo& Parameters::info(const std::string& name) const {
  for (const ParameterInfo& info : layout_)
    if (info.name == name) return info;
  fail("check the network spec", "no parameter is named '{}'", name);
}

}  // namespace mdsm::network

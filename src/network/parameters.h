// All weights of one network in one flat float32 buffer, with named views into it. The flat order is that of
// parameter_layout(), so optimisers and sums over processes need no names.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "network/spec.h"

namespace mdsm::network {

class Parameters {
 public:
  explicit Parameters(const Spec& spec);  // all zero
  // PyTorch's default initialisation: every value uniform in ±1/sqrt(fan_in) of its layer, but for layers
  // that start at zero.
  static Parameters initialised(const Spec& spec, uint64_t seed);
  // The same with no layer at zero: for comparisons, which zeros would leave little to see.
  static Parameters random(const Spec& spec, uint64_t seed);
  // The same weights for images of another size; only where the network takes any (Spec::any_size).
  Parameters at_size(int64_t height, int64_t width) const;

  const Spec& spec() const { return spec_; }
  const std::vector<ParameterInfo>& layout() const { return layout_; }
  std::span<float> values() { return values_; }
  std::span<const float> values() const { return values_; }
  std::span<float> at(const ParameterInfo& info) {
    return std::span(values_).subspan(info.offset, info.count);
  }
  std::span<const float> at(const ParameterInfo& info) const {
    return std::span(values_).subspan(info.offset, info.count);
  }
  std::span<float> at(const std::string& name) { return at(info(name)); }
  std::span<const float> at(const std::string& name) const { return at(info(name)); }
  const ParameterInfo& info(const std::string& name) const;  // throws when there is no such parameter

 private:
  Spec spec_;
  std::vector<ParameterInfo> layout_;
  std::vector<float> values_;
};

}  // namespace mdsm::network

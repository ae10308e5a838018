// The layers of a network as a table for people: what each one puts out, how many parameters it has and what
// it costs. The sums agree with parameter_count() and multiply_adds().
#pragma once

#include <string>
#include <vector>

#include "network/spec.h"

namespace mdsm::network {

struct LayerInfo {
  std::string name;  // as the parameters start: "rb1.conv_2"
  std::string kind;  // "3x3", "3x3 + mean 2x2", ...
  Shape output;      // of one image
  int64_t parameters = 0, multiply_adds = 0;
};

std::vector<LayerInfo> layers(const Spec& spec);

}  // namespace mdsm::network

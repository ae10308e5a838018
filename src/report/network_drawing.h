// A picture of a network: its list of layers as SVG text, a row for every size of maps. Any list; what stands
// where is network_layout.h's business.
#pragma once

#include <string>

#include "network/graph.h"

namespace mdsm::report {

// image: shape of the images, which the sizes of the maps follow.
std::string network_drawing(const network::Graph& graph, const Shape& image, const std::string& title);

}  // namespace mdsm::report

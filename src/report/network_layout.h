// Where the layers of a network stand on a page: a row for every size of maps, the largest on top, columns in
// the order of computing, and lanes where several layers of one row stand in one column. Any list of layers;
// network_drawing.h draws it.
#pragma once

#include <string>
#include <vector>

#include "network/graph.h"

namespace mdsm::report {

struct LayoutNode {
  enum class Kind { image, convolution, activation, pool, upsample, add, concatenate, head };
  Kind kind = Kind::convolution;
  std::string name, what;  // two lines; of the small ones none
  int64_t row = 0, column = 0, lane = 0;

  bool small() const { return kind != Kind::image && kind != Kind::convolution && kind != Kind::head; }
};

// From a node to a later one. track: lines that cannot go straight run above the row of `to`; the lowest
// track is 0, and a straight one has none.
struct LayoutEdge {
  int from = 0, to = 0;
  int64_t track = -1;
};

struct NetworkLayout {
  std::vector<LayoutNode> nodes;
  std::vector<LayoutEdge> edges;
  int64_t columns = 0;
  std::vector<int64_t> lanes, tracks;  // of each row
};

NetworkLayout layout_of(const network::Graph& graph);

}  // namespace mdsm::report

// The list of layers as ONNX operators: the walk forwards and the transpose of its derivative, written out.
#pragma once

#include <string>
#include <vector>

#include "network/graph.h"
#include "network/onnx_graph.h"
#include "network/parameters.h"

namespace mdsm::network {

class OnnxLayers {
 public:
  using Name = OnnxGraph::Name;

  OnnxLayers(const Parameters& parameters, OnnxGraph& net);

  const Graph& graph() const { return graph_; }
  // The last value, of the image `from`.
  Name walk(const Name& from);
  // Of the last value's delta, the image's: once, after walk().
  Name walk_back(const Name& delta);

  Name parameter(const std::string& name);
  Name scaled(const Name& value, double factor, const Name& result);
  Name elu_slope(const Name& x, const Name& result);  // exp(x) below 0, 1 above

 private:
  const Name& input(const Layer& layer, size_t which = 0) const;
  Name pooled(const Name& value, const Name& result);
  Name enlarged(const Name& value, const Name& result);
  Name convolved(const Layer& layer, const Name& result);
  Name forward(const Layer& layer, const Name& result);
  Name silu_slope(const Name& y, const Name& result);
  void give(int value, const Name& delta);
  void backward(size_t layer, const Name& delta);
  Name sum_of_deltas(size_t value);

  const Parameters& parameters_;
  Graph graph_;
  OnnxGraph& net_;
  std::vector<Name> values_;               // of the list of layers
  std::vector<std::vector<Name>> deltas_;  // what came back to each so far
};

}  // namespace mdsm::network

#include "report/network_layout.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <tuple>

namespace mdsm::report {
namespace {

using Kind = LayoutNode::Kind;
using network::LayerKind;

bool is_activation(LayerKind kind) { return kind == LayerKind::elu || kind == LayerKind::silu; }

Kind kind_of(LayerKind kind) {
  switch (kind) {
    case LayerKind::convolution:
      return Kind::convolution;
    case LayerKind::elu:
    case LayerKind::silu:
      return Kind::activation;
    case LayerKind::pool:
      return Kind::pool;
    case LayerKind::upsample:
      return Kind::upsample;
    case LayerKind::add:
      return Kind::add;
    case LayerKind::concatenate:
      return Kind::concatenate;
  }
  return Kind::convolution;
}

class LayoutBuilder {
 public:
  explicit LayoutBuilder(const network::Graph& graph) : graph_(graph), consumers_(graph.consumers()) {}

  NetworkLayout build() {
    const auto rows = static_cast<size_t>(graph_.halvings() + 1);
    out_.lanes.assign(rows, 0);
    out_.tracks.assign(rows, 0);
    shown_.push_back(place({Kind::image, "image", fmt::format("{}", graph_.channels)}, 0, {}));
    for (int value = 1; value < graph_.values(); ++value) add(value);
    std::vector<int> ends = {shown(graph_.last())};
    if (network::is_image_head(graph_.head)) ends.push_back(shown(0));
    place({Kind::head, to_string(graph_.head), "energy"}, graph_.size(graph_.last()).halvings, ends);
    for (LayoutEdge& edge : out_.edges) route(edge);
    return std::move(out_);
  }

 private:
  int shown(int value) const { return shown_[static_cast<size_t>(value)]; }
  LayoutNode& node(int i) { return out_.nodes[static_cast<size_t>(i)]; }

  // An activation that only convolutions read is written into them.
  bool folded(int value) const {
    return value > 0 && is_activation(graph_.maker(value).kind) &&
           std::ranges::all_of(consumers_[static_cast<size_t>(value)],
                               [&](int reader) {
                                 return graph_.layers[static_cast<size_t>(reader)].kind ==
                                        LayerKind::convolution;
                               }) &&
           value != graph_.last();
  }

  void add(int value) {
    const network::Layer& layer = graph_.maker(value);
    if (folded(value)) {
      shown_.push_back(shown(layer.inputs[0]));
      return;
    }
    LayoutNode one{kind_of(layer.kind), "", ""};
    if (layer.kind == LayerKind::convolution) {
      const int from = layer.inputs[0];
      one.name = short_name(layer);
      one.what = fmt::format(
          "{}{}x{}, {}→{}", folded(from) ? std::string(to_string(graph_.maker(from).kind)) + ", " : "",
          layer.kernel, layer.kernel, graph_.size(from).channels, graph_.size(value).channels);
    }
    std::vector<int> from;
    for (const int input : layer.inputs) from.push_back(shown(input));
    shown_.push_back(place(std::move(one), graph_.size(value).halvings, from));
  }

  // The first that is free, but not beside a node that it has nothing to do with: the line of one would seem
  // to lead to the other. What stands to the right already does not read this one.
  int64_t lane_for(const LayoutNode& one, const std::vector<int>& from) const {
    for (int64_t lane = 0;; ++lane) {
      const auto before = places_.find({one.row, one.column - 1, lane});
      const bool foreign = before != places_.end() && std::ranges::find(from, before->second) == from.end();
      if (!foreign && !places_.contains({one.row, one.column, lane}) &&
          !places_.contains({one.row, one.column + 1, lane}))
        return lane;
    }
  }

  int place(LayoutNode one, int64_t row, const std::vector<int>& from) {
    const int at = static_cast<int>(out_.nodes.size());
    one.row = row;
    for (const int i : from) {
      one.column = std::max(one.column, node(i).column + 1);
      out_.edges.push_back({i, at});
    }
    one.lane = lane_for(one, from);
    places_[{row, one.column, one.lane}] = at;
    out_.lanes[static_cast<size_t>(row)] = std::max(out_.lanes[static_cast<size_t>(row)], one.lane + 1);
    out_.columns = std::max(out_.columns, one.column + 1);
    out_.nodes.push_back(std::move(one));
    return at;
  }

  // Straight along the lane that it comes from where nothing stands in the way; otherwise on the lowest track
  // that is free.
  void route(LayoutEdge& edge) {
    const LayoutNode &from = node(edge.from), &to = node(edge.to);
    bool free = true;
    for (int64_t c = from.column + 1; c < to.column; ++c)
      free = free && !places_.contains({from.row, c, from.lane});
    if (free) return;
    auto& intervals = taken_[to.row];
    const auto blocked = [&](int64_t track) {
      return std::ranges::any_of(intervals, [&](const Interval& one) {
        return one.track == track && one.first < to.column && from.column < one.last;
      });
    };
    for (edge.track = 0; blocked(edge.track);) ++edge.track;
    intervals.push_back({from.column, to.column, edge.track});
    int64_t& tracks = out_.tracks[static_cast<size_t>(to.row)];
    tracks = std::max(tracks, edge.track + 1);
  }

  struct Interval {
    int64_t first, last, track;
  };
  const network::Graph& graph_;
  std::vector<std::vector<int>> consumers_;
  NetworkLayout out_;
  std::vector<int> shown_;                                       // the node of every value
  std::map<std::tuple<int64_t, int64_t, int64_t>, int> places_;  // the node at row, column and lane
  std::map<int64_t, std::vector<Interval>> taken_;               // tracks, by row
};

}  // namespace

NetworkLayout layout_of(const network::Graph& graph) { return LayoutBuilder(graph).build(); }

}  // namespace mdsm::report

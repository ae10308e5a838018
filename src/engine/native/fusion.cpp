#include "engine/native/fusion.h"

#include <algorithm>

#include "core/error.h"

namespace mdsm::engine::native {
namespace {

using network::Graph;
using network::Layer;
using network::LayerKind;

bool is_activation(const Layer& layer) {
  return layer.kind == LayerKind::elu || layer.kind == LayerKind::silu;
}

class Fuser {
 public:
  explicit Fuser(Graph given, RewrittenGraph rewritten)
      : out_{std::move(given), std::move(rewritten.graph), {}, {}}, parts_(std::move(rewritten.parts)) {
    out_.consumers = graph_.consumers();
    into_.assign(graph_.layers.size(), -1);
    done_.assign(graph_.layers.size(), false);
  }

  Fusion run() {
    check_input();
    choose_sums();
    for (int i = 0; i < static_cast<int>(graph_.layers.size()); ++i) emit(i);
    return std::move(out_);
  }

 private:
  const Layer& layer(int i) const { return graph_.layers[static_cast<size_t>(i)]; }
  const std::vector<int>& readers(int value) const { return out_.consumers[static_cast<size_t>(value)]; }
  static int value_of(int layer) { return layer + 1; }
  bool folds_pool(int value) const {
    return network::folds_pool(graph_, out_.consumers, value) &&
           !parts_[static_cast<size_t>(value - 1)].upsampled;
  }

  void check_input() const {
    const std::vector<int>& first = readers(0);
    if (first.size() != 1 || layer(first[0]).kind != LayerKind::convolution || layer(first[0]).kernel != 3)
      fail("use --engine torch", "the native engine wants one 3x3 convolution to read the image");
  }

  // The value of a convolution with its pool, if it has one.
  int result_of(int convolution) const {
    const int value = value_of(convolution);
    return folds_pool(value) ? value_of(readers(value)[0]) : value;
  }
  bool is_input(int convolution) const { return layer(convolution).inputs[0] == 0; }
  // The convolution that makes a value, itself or with its pool; -1 where another layer does.
  int convolution_of(int value) const {
    if (value == 0) return -1;
    const int made_by = value - 1;
    if (layer(made_by).kind == LayerKind::convolution) return made_by;
    if (layer(made_by).kind != LayerKind::pool) return -1;
    const int before = layer(made_by).inputs[0];
    return before > 0 && folds_pool(before) && !is_input(before - 1) ? before - 1 : -1;
  }

  // Which convolution takes each sum with it: one whose result nobody else reads, rather a 3x3 than a 1x1.
  void choose_sums() {
    for (int i = 0; i < static_cast<int>(graph_.layers.size()); ++i) {
      if (layer(i).kind != LayerKind::add || layer(i).inputs[0] == layer(i).inputs[1]) continue;
      int best = -1;
      for (const int input : layer(i).inputs) {
        const int convolution = convolution_of(input);
        if (convolution < 0 || is_input(convolution) || readers(input).size() != 1) continue;
        if (best < 0 || layer(convolution).kernel > layer(best).kernel) best = convolution;
      }
      if (best >= 0) into_[static_cast<size_t>(best)] = i;
    }
  }

  void emit(int i) {
    if (done_[static_cast<size_t>(i)]) return;
    const Layer& one = layer(i);
    const int value = value_of(i);
    switch (one.kind) {
      case LayerKind::convolution:
        if (into_[static_cast<size_t>(i)] < 0) convolution(i, -1);
        return;  // else where its sum is
      case LayerKind::pool:
        if (convolution_of(value) < 0) simple(Step::Kind::pool, i);
        return;
      case LayerKind::upsample:
        return simple(Step::Kind::upsample, i);
      case LayerKind::concatenate:
        return simple(Step::Kind::concatenate, i);
      case LayerKind::add:
        for (size_t c = 0; c < into_.size(); ++c)
          if (into_[c] == i) return convolution(static_cast<int>(c), i);
        return simple(Step::Kind::add, i);
      case LayerKind::elu:
      case LayerKind::silu:
        out_.steps.push_back({.kind = Step::Kind::activate, .layer = i, .from = one.inputs, .second = value});
        return;
    }
  }

  void simple(Step::Kind kind, int i) {
    out_.steps.push_back({.kind = kind, .layer = i, .from = layer(i).inputs, .to = value_of(i)});
  }

  void convolution(int i, int sum) {
    Step step{.kind = is_input(i) ? Step::Kind::input_convolution : Step::Kind::convolution,
              .layer = i,
              .from = layer(i).inputs,
              .to = is_input(i) ? value_of(i) : result_of(i)};
    step.pooled = step.to != value_of(i);
    step.part = parts_[static_cast<size_t>(i)];
    if (layer(i).bias) step.biases.push_back(i);
    if (sum >= 0) {
      const std::vector<int>& operands = layer(sum).inputs;
      step.plus = operands[0] == step.to ? operands[1] : operands[0];
      step.to = value_of(sum);
      // What nobody else reads leaves its bias to this one.
      const int other = convolution_of(step.plus);
      if (other >= 0 && readers(step.plus).size() == 1 && layer(other).bias && give_bias(other))
        step.biases.push_back(other);
    }
    take_activation(step);
    out_.steps.push_back(std::move(step));
  }

  // Takes the bias from a convolution's own step, which ran before.
  bool give_bias(int convolution) {
    for (Step& step : out_.steps)
      if (step.layer == convolution && step.kind == Step::Kind::convolution && step.second < 0 &&
          step.plus < 0) {
        step.biases.clear();
        return true;
      }
    return false;
  }

  void take_activation(Step& step) {
    const std::vector<int>& users = readers(step.to);
    const auto found = std::ranges::find_if(users, [&](int user) { return is_activation(layer(user)); });
    if (found == users.end()) return;
    step.second = value_of(*found);
    done_[static_cast<size_t>(*found)] = true;
    step.only_second = users.size() == 1 && layer(*found).kind == LayerKind::elu &&
                       step.kind == Step::Kind::convolution && step.plus < 0;
  }

  Fusion out_;
  const Graph& graph_ = out_.graph;
  std::vector<ConvolutionPart> parts_;  // of each layer
  std::vector<bool> done_;              // activations that a convolution took along
  std::vector<int> into_;               // of each convolution, the sum it takes along
};

}  // namespace

Fusion fuse(Graph graph) {
  RewrittenGraph rewritten = move_upsampling(graph);
  return Fuser(std::move(graph), std::move(rewritten)).run();
}

}  // namespace mdsm::engine::native

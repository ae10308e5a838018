// From the steps of a fusion to the kernel calls of all passes: forward and tangent make a map a value,
// backward and second backward gather what comes back to each.
#include <algorithm>

#include "core/error.h"
#include "engine/native/profile.h"
#include "engine/native/program.h"

namespace mdsm::engine::native {
namespace {

using Op = Epilogue::Op;
using Kind = Instruction::Kind;

}  // namespace

class ProgramBuilder {
 public:
  explicit ProgramBuilder(Program& program)
      : p_(program),
        fusion_(program.fusion_),
        graph_(fusion_.graph),
        values_(static_cast<size_t>(graph_.values())) {
    x_.resize(values_);
    xdot_.resize(values_);
    delta_of_activation_.resize(values_);
    place_.resize(values_);
    for (int pass = 0; pass < 2; ++pass) roots_[pass].assign(values_, -1);
  }

  void build() {
    choose_places();
    choose_wide();
    forward(false);
    emit(Kind::head_energy, Pass::forward).src = x_at(graph_.last());
    if (p_.mode_ == Mode::energy) return;
    backward(false);
    if (p_.mode_ != Mode::training) return;
    emit(Kind::tangent_direction, Pass::tangent);
    forward(true);
    backward(true);
  }

 private:
  // What has come back to a value so far from those that read it.
  struct Term {
    MapRef map;
    bool unpooled = false;  // through a pool: half the size
  };

  bool training() const { return p_.mode_ == Mode::training; }
  static size_t at(int value) { return static_cast<size_t>(value); }

  Instruction& emit(Kind kind, Pass pass, int step = -1, int value = -1) {
    p_.instructions_.push_back({.kind = kind, .pass = pass, .step = step, .value = value});
    return p_.instructions_.back();
  }

  int new_buffer(int value) {
    const MapShape shape = p_.map_shape(value);
    p_.buffers_.push_back({.planes = shape.blocks(), .height = shape.height, .width = shape.width});
    return static_cast<int>(p_.buffers_.size()) - 1;
  }

  // ---- Concatenations: where their parts can be written in place.

  struct Place {
    int root = -1;  // the concatenation whose map this value is a part of
    int64_t plane = 0;
  };

  bool whole_blocks(int value) const { return graph_.size(value).channels % p_.layout_.block == 0; }

  // Whether all that make or read a value can do with a part of a larger map.
  bool may_be_part(int value) const {
    if (value == 0 || place_[at(value)].root >= 0) return false;
    for (const Step& step : fusion_.steps) {
      const bool convolution = step.kind == Step::Kind::convolution;
      const bool takes_parts = !convolution || Convolution(p_.convolution_shape(step), p_.layout_,
                                                           p_.arithmetic_, gradient_terms(p_.mode_))
                                                   .takes_parts();
      if (step.to == value && (!takes_parts || step.kind == Step::Kind::input_convolution ||
                               step.kind == Step::Kind::concatenate))
        return false;
      if (std::ranges::find(step.from, value) != step.from.end() && convolution) return false;
      if (step.second == value) return false;
    }
    // Slopes of a SiLU are worked out from its input, which must then lie as the other maps of its size do.
    for (const int reader : fusion_.consumers[at(value)])
      if (graph_.layers[at(reader)].kind == network::LayerKind::silu) return false;
    return value != graph_.last();
  }

  void choose_places() {
    for (const Step& step : fusion_.steps) {
      if (step.kind != Step::Kind::concatenate || step.from[0] == step.from[1]) continue;
      if (!whole_blocks(step.from[0])) continue;
      int64_t plane = 0;
      for (const int from : step.from) {
        if (whole_blocks(from) && may_be_part(from)) place_[at(from)] = {step.to, plane};
        plane += p_.map_shape(from).blocks();
      }
    }
  }

  // What a head compares with the image keeps its bits, where a convolution makes it for the head alone.
  void choose_wide() {
    const int last = graph_.last();
    if (!network::is_image_head(graph_.head) || !fusion_.consumers[at(last)].empty()) return;
    for (const Step& step : fusion_.steps)
      if (step.to == last && step.kind == Step::Kind::convolution && step.second < 0 && step.plus < 0)
        wide_ = last;
  }

  // ---- Forward and tangent.

  // The map of a value: made at first sight, together with the whole it is a part of.
  MapRef map_of(int value, bool dot) {
    const Place& place = place_[at(value)];
    const int root = place.root >= 0 ? place.root : value;
    int& buffer = roots_[dot ? 1 : 0][at(root)];
    if (buffer < 0) {
      const int first = roots_[0][at(root)];
      buffer = dot && first >= 0 && p_.buffers_[at(first)].pair ? first : new_buffer(root);
      p_.buffers_[at(buffer)].wide = root == wide_;
    }
    MapRef ref{.buffer = buffer, .half = dot ? 1 : 0};
    if (place.root >= 0) {
      ref.plane = place.plane;
      ref.planes = p_.map_shape(root).blocks();
    }
    (dot ? xdot_ : x_)[at(value)] = ref;
    return ref;
  }
  MapRef x_at(int value) const { return x_[at(value)]; }
  MapRef rate_at(int value) const { return xdot_[at(value)]; }

  // What the slope of an activation is worked out from: the output of an ELU, the input of a SiLU.
  MapRef slope_from(int activation) const {
    return x_at(fusion_.is_silu(activation) ? fusion_.argument(activation) : activation);
  }

  // Values that enter weight gradients are pairs in training.
  void mark_pairs() {
    if (!training()) return;
    for (const Step& step : fusion_.steps)
      if (step.kind == Step::Kind::convolution) p_.buffers_[at(x_at(step.from[0]).buffer)].pair = true;
  }

  void forward(bool dot) {
    Pass pass = dot ? Pass::tangent : Pass::forward;
    for (size_t i = 0; i < fusion_.steps.size(); ++i) forward_step(static_cast<int>(i), dot, pass);
    if (!dot) mark_pairs();
  }

  void forward_step(int number, bool dot, Pass pass) {
    const Step& step = fusion_.steps[at(number)];
    const auto source = [&](size_t i) { return dot ? rate_at(step.from[i]) : x_at(step.from[i]); };
    switch (step.kind) {
      case Step::Kind::input_convolution: {
        Instruction& to = emit(Kind::input_forward, pass, number, step.to);
        to.dst = map_of(step.to, dot);
        to.bias = !dot;
        take_second(step, dot, to);
        return;
      }
      case Step::Kind::convolution:
        return forward_convolution(step, number, dot, pass);
      case Step::Kind::pool:
      case Step::Kind::upsample: {
        const bool pool = step.kind == Step::Kind::pool;
        Instruction& to =
            emit(pool ? Kind::pool : Kind::upsample, pass, number, pool ? step.from[0] : step.to);
        to.src = source(0);
        to.dst = map_of(step.to, dot);
        return;
      }
      case Step::Kind::add:
        for (size_t k = 0; k < 2; ++k) {
          Instruction& to = emit(Kind::gather, pass, number, step.to);
          to.src = source(k);
          to.dst = map_of(step.to, dot);
          to.add_to = k > 0;
        }
        return;
      case Step::Kind::concatenate:
        return concatenate(step, number, dot, pass);
      case Step::Kind::activate: {
        Instruction& to = emit(Kind::activate, pass, number, step.from[0]);
        to.src = source(0);
        take_second(step, dot, to);
        return;
      }
    }
  }

  void forward_convolution(const Step& step, int number, bool dot, Pass pass) {
    Instruction& to = emit(Kind::forward, pass, number, step.to);
    to.src = dot ? rate_at(step.from[0]) : x_at(step.from[0]);
    to.bias = !dot && !step.biases.empty();
    if (step.only_second) {
      to.op = dot ? Op::slope : Op::elu;
      if (dot) to.y = x_at(step.second);
      to.dst = map_of(step.second, dot);
      return;
    }
    if (step.plus >= 0) {
      to.add = dot ? rate_at(step.plus) : x_at(step.plus);
      // In its place, where nobody needs what was there.
      if (may_replace(step)) share(step.plus, step.to, dot);
    }
    to.dst = map_of(step.to, dot);
    take_second(step, dot, to);
  }

  // The activation that a step takes along.
  void take_second(const Step& step, bool dot, Instruction& to) {
    if (step.second < 0) return;
    to.second = map_of(step.second, dot);
    to.second_silu = fusion_.is_silu(step.second);
    if (dot) to.second_y = slope_from(step.second);
  }

  bool may_replace(const Step& step) const {
    if (step.part.upsampled || fusion_.consumers[at(step.plus)].size() != 1 ||
        place_[at(step.plus)].root >= 0 || place_[at(step.to)].root >= 0)
      return false;
    // Made by a convolution for this sum alone.
    return std::ranges::any_of(fusion_.steps, [&](const Step& other) {
      return other.kind == Step::Kind::convolution && other.to == step.plus && other.second < 0;
    });
  }

  void share(int from, int to, bool dot) { roots_[dot ? 1 : 0][at(to)] = roots_[dot ? 1 : 0][at(from)]; }

  void concatenate(const Step& step, int number, bool dot, Pass pass) {
    const MapRef whole = map_of(step.to, dot);
    int64_t channel = 0;
    for (const int from : step.from) {
      const MapRef part = dot ? rate_at(from) : x_at(from);
      const bool aligned = channel % p_.layout_.block == 0 && (whole_blocks(from) || from == step.from[1]);
      if (place_[at(from)].root != step.to) {
        Instruction& to = emit(aligned ? Kind::gather : Kind::copy_channels, pass, number, from);
        to.src = part;
        to.dst = whole;
        to.dst.plane = channel / p_.layout_.block;
        to.dst.planes = p_.map_shape(step.to).blocks();
        to.channel = channel;
        if (!aligned) to.dst.plane = 0;
      }
      channel += graph_.size(from).channels;
    }
  }

  // ---- Backward and second backward.

  MapRef new_back(int value) {
    if (!second_) {
      back_.push_back(new_buffer(value));
      return {.buffer = back_.back(), .half = 1};
    }
    const int twin = back_[next_back_++];
    return {.buffer = p_.buffers_[at(twin)].pair ? twin : new_buffer(value), .half = 0};
  }

  void count_pending() {
    pending_.assign(values_, 0);
    for (const Step& step : fusion_.steps) {
      for (const int from : step.from) ++pending_[at(from)];
      if (step.plus >= 0) ++pending_[at(step.plus)];
      if (step.second >= 0 && step.kind != Step::Kind::activate) ++pending_[at(step.to)];
    }
  }

  void backward(bool second) {
    second_ = second;
    next_back_ = 0;
    terms_.assign(values_, {});
    whole_.assign(values_, MapRef{});
    count_pending();
    Pass pass = second ? Pass::second_backward : Pass::backward;
    Instruction& head = emit(second                         ? Kind::head_second_order
                             : p_.mode_ == Mode::parameters ? Kind::head_first_order
                                                            : Kind::head_delta,
                             pass, -1, graph_.last());
    head.src = x_at(graph_.last());
    if (second) head.other = rate_at(graph_.last());
    head.dst = new_back(graph_.last());
    whole_[at(graph_.last())] = head.dst;
    for (size_t i = fusion_.steps.size(); i-- > 0;) backward_step(static_cast<int>(i), pass);
  }

  bool with_gradients() const { return second_ || p_.mode_ == Mode::parameters; }

  void backward_step(int number, Pass pass) {
    const Step& step = fusion_.steps[at(number)];
    if (step.second >= 0 && pending_[at(step.second)] == 0 && !fused_back(step.second))
      back_through(step.second, number, pass);
    if (step.kind == Step::Kind::activate) return;
    const MapRef d = complete(step.to, number, pass);
    switch (step.kind) {
      case Step::Kind::input_convolution:
        if (with_gradients()) {
          bias_gradient(step, d, number);
          Instruction& to = emit(Kind::input_gradient, Pass::weight_gradients, number, step.to);
          to.src = d;
          if (second_) to.other = first_delta_;
        } else {
          first_delta_ = d;
          Instruction& to = emit(Kind::input_backward, pass, number, step.to);
          to.src = d;
          if (network::is_image_head(graph_.head)) to.other = x_at(graph_.last());
        }
        return;
      case Step::Kind::convolution:
        if (step.plus >= 0) arrive(step.plus, {d});
        if (with_gradients()) {
          bias_gradient(step, d, number);
          Instruction& to = emit(Kind::gradient, Pass::weight_gradients, number, step.to);
          to.src = x_at(step.from[0]);
          to.other = d;
        } else if (training()) {
          p_.buffers_[at(d.buffer)].pair = true;
        }
        return back_through_convolution(step, d, number, pass);
      case Step::Kind::pool:
        return arrive(step.from[0], {d, true});
      case Step::Kind::upsample: {
        Instruction& to = emit(Kind::sum_pool, pass, number, step.to);
        to.src = d;
        const MapRef sum = new_back(step.from[0]);
        to.dst = sum;
        return arrive(step.from[0], {sum});
      }
      case Step::Kind::add:
        arrive(step.from[0], {d});
        return arrive(step.from[1], {d});
      case Step::Kind::concatenate:
        return back_through_concatenation(step, d, number, pass);
      case Step::Kind::activate:
        return;
    }
  }

  void bias_gradient(const Step& step, const MapRef& d, int number) {
    if (step.biases.empty() && step.kind != Step::Kind::input_convolution) return;
    emit(Kind::bias_gradient, Pass::weight_gradients, number, step.to).src = d;
  }

  void back_through_concatenation(const Step& step, const MapRef& d, int number, Pass pass) {
    int64_t channel = 0;
    for (const int from : step.from) {
      const int64_t channels = graph_.size(from).channels;
      const bool aligned = channel % p_.layout_.block == 0 && (whole_blocks(from) || from == step.from[1]);
      if (aligned) {
        MapRef part = d;
        part.plane += channel / p_.layout_.block;
        part.planes = p_.map_shape(step.to).blocks();
        arrive(from, {part});
      } else {
        Instruction& to = emit(Kind::take_channels, pass, number, from);
        to.src = d;
        to.channel = channel;
        const MapRef part = new_back(from);
        to.dst = part;
        arrive(from, {part});
      }
      channel += channels;
    }
  }

  // One of those that read `value` has given its part.
  void arrive(int value, Term term) {
    terms_[at(value)].push_back(term);
    --pending_[at(value)];
  }

  bool is_activation(int value) const {
    if (value == 0) return false;
    const network::LayerKind kind = graph_.maker(value).kind;
    return kind == network::LayerKind::elu || kind == network::LayerKind::silu;
  }
  // Whether the way back through an activation was taken along by the one convolution that reads it.
  bool fused_back(int activation) const {
    const std::vector<int>& readers = fusion_.consumers[at(activation)];
    return readers.size() == 1 && activation != graph_.last() &&
           graph_.layers[at(readers[0])].kind == network::LayerKind::convolution;
  }

  // The terms that have arrived as something an epilogue can add.
  void add_terms(int value, Instruction& to) {
    std::vector<Term>& terms = terms_[at(value)];
    if (terms.empty()) return;
    to.add = terms[0].map;
    to.add_unpooled = terms[0].unpooled;
    terms.clear();
  }
  // More than one term, added up to one.
  void merge_terms(int value, int number, Pass pass) {
    std::vector<Term>& terms = terms_[at(value)];
    if (terms.size() < 2) return;
    const MapRef sum = new_back(value);
    for (size_t k = 0; k < terms.size(); ++k) {
      Instruction& to = emit(Kind::gather, pass, number, value);
      to.src = terms[k].map;
      to.add_unpooled = terms[k].unpooled;
      to.add_to = k > 0;
      to.dst = sum;
    }
    terms.assign(1, {sum});
  }

  // All that comes back to a value, in one map of its own.
  MapRef complete(int value, int number, Pass pass) {
    if (whole_[at(value)]) return whole_[at(value)];
    std::vector<Term>& terms = terms_[at(value)];
    if (terms.empty()) fail("this is a bug in the network", "nothing reads value {}", value);
    merge_terms(value, number, pass);
    if (terms[0].unpooled || terms[0].map.planes > 0) {
      Instruction& to = emit(Kind::gather, pass, number, value);
      to.src = terms[0].map;
      to.add_unpooled = terms[0].unpooled;
      to.dst = new_back(value);
      terms.assign(1, {to.dst});
    }
    return whole_[at(value)] = terms[0].map;
  }

  // The way back to `target` ends in an instruction: with the other terms, where this one is the last.
  void finish_arrival(int target, Instruction& to) {
    if (pending_[at(target)] == 1) {
      add_terms(target, to);
      whole_[at(target)] = to.dst;
    } else {
      terms_[at(target)].push_back({to.dst});
    }
    --pending_[at(target)];
  }

  void back_through_convolution(const Step& step, const MapRef& d, int number, Pass pass) {
    const int from = step.from[0];
    const bool through = is_activation(from) && fused_back(from);
    const int target = through ? fusion_.argument(from) : from;
    if (pending_[at(target)] == 1) merge_terms(target, number, pass);
    const MapRef dst = new_back(target);
    MapRef raw;
    if (through && training() && !second_)
      raw = delta_of_activation_[at(from)] = {.buffer = new_buffer(from), .half = 1};
    Instruction& to = emit(Kind::backward, pass, number, target);
    to.src = d;
    to.dst = dst;
    to.raw = raw;
    if (through) {
      --pending_[at(from)];
      set_slope(from, to);
    }
    finish_arrival(target, to);
  }

  void set_slope(int activation, Instruction& to) {
    const bool silu = fusion_.is_silu(activation);
    to.op = second_ ? (silu ? Op::silu_bend : Op::bend) : (silu ? Op::silu_slope : Op::slope);
    to.y = slope_from(activation);
    if (!second_) return;
    to.delta = delta_of_activation_[at(activation)];
    to.ydot = rate_at(silu ? fusion_.argument(activation) : activation);
  }

  // An activation that several read, or none of them a convolution.
  void back_through(int activation, int number, Pass pass) {
    const int target = fusion_.argument(activation);
    const MapRef d = complete(activation, number, pass);
    if (!second_) delta_of_activation_[at(activation)] = d;
    if (pending_[at(target)] == 1) merge_terms(target, number, pass);
    const MapRef dst = new_back(target);
    Instruction& to = emit(Kind::slope, pass, number, target);
    to.src = d;
    to.dst = dst;
    set_slope(activation, to);
    finish_arrival(target, to);
  }

  Program& p_;
  const Fusion& fusion_;
  const network::Graph& graph_;
  size_t values_;
  std::vector<Place> place_;
  int wide_ = -1;  // the value whose maps are wide
  std::vector<MapRef> x_, xdot_;
  std::vector<int> roots_[2];  // buffer of each value that is no part: x, xdot
  // backward
  bool second_ = false;
  std::vector<int> back_;  // buffers in the order the first backward pass made them
  size_t next_back_ = 0;
  std::vector<int> pending_;  // of each value: readers whose part has not come back yet
  std::vector<std::vector<Term>> terms_;
  std::vector<MapRef> whole_;
  std::vector<MapRef> delta_of_activation_;  // dE by the output of each activation
  MapRef first_delta_;                       // dE by the result of the first convolution
};

void Program::build() { ProgramBuilder(*this).build(); }

}  // namespace mdsm::engine::native

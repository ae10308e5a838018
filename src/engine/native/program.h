// A network compiled for one batch, image size and mode (energy, input gradient, training, parameter gradient
// of the energy): a list of kernel calls on maps, in the order of the passes of docs/design/second_order.md,
// and where every map lies in the arena. It knows shapes and lifetimes and computes nothing; plan.h runs it.
//
// Names follow docs/notation.md: delta is dE/d(.), a dot the derivative along v, gamma = dEdot/d(.).
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/native/convolution.h"
#include "engine/native/fusion.h"
#include "engine/native/profile.h"

namespace mdsm::engine::native {

// parameters: dE/dtheta, which is forward, backward and one weight gradient a layer.
enum class Mode { energy, gradient, training, parameters };

// Maps that enter a weight gradient, in units of n.
inline int64_t gradient_terms(Mode mode) {
  return mode == Mode::training ? 2 : mode == Mode::parameters ? 1 : 0;
}

// Memory for n maps, or for 2n: in training, what enters weight gradients are pairs, (x, xdot) and (gamma,
// delta), and each weight gradient is one call on a doubled batch.
struct MapBuffer {
  int64_t planes = 0, height = 0, width = 0;
  bool pair = false;
  bool wide = false;          // floats, whatever the arithmetic: the network's result, compared with an image
  int first = -1, last = -1;  // instructions that use it
  int64_t offset = 0;         // in the arena
};

// A map in a buffer: of a pair, one of the halves; of a larger map, some of its planes.
struct MapRef {
  int buffer = -1;
  int half = 0;                   // of a pair: x and gamma are 0, xdot and delta 1
  int64_t plane = 0, planes = 0;  // first plane, and planes of an image where that is more than its own
  explicit operator bool() const { return buffer >= 0; }
};

struct Instruction {
  enum class Kind {
    input_forward,   // the first convolution: dst (second) from the images, or from v
    input_backward,  // grad_x from src
    input_gradient,  // its weight gradient, from src: gamma and delta, or delta alone
    forward,         // dst = epilogue(convolution(src))
    backward,        // dst = epilogue(convolution^T(src))
    gradient,        // weight gradient from src (x) and other (gamma, delta)
    bias_gradient,   // from src, for the step's biases
    pool,            // dst = 2x2 means of src
    sum_pool,        // dst = 2x2 sums of src
    upsample,        // dst = src with every pixel as 2x2
    gather,          // dst = src, or dst += src with `add_to`; src may be unpooled
    copy_channels,   // channels of src to those of dst from `channel` on, which is no whole number of blocks
    take_channels,   // the reverse: dst from the channels of src from `channel` on
    activate,        // second = activation of src, or src * slope
    slope,           // dst = src through the epilogue's op: the way back through an activation
    head_energy,     // the energies from src
    head_delta,      // dst = dE/d(src)
    head_first_order,  // the same times the weights of the images, and the head's own gradient
    tangent_direction,
    head_second_order  // dst = dEdot/d(src), other: srcdot; and the head's own gradient
  };
  Kind kind;
  Pass pass;
  int step = -1;   // of the fusion
  int value = -1;  // whose shape dst (or src) has
  MapRef src{}, other{}, dst{};
  // The epilogue.
  bool bias = false, add_unpooled = false, second_silu = false, add_to = false;
  Epilogue::Op op = Epilogue::Op::none;
  MapRef raw{}, y{}, delta{}, ydot{}, add{}, second{}, second_y{};
  int64_t channel = 0;
};

struct ProgramShape {
  int64_t n = 1, height = 0, width = 0;  // of images, padded to what the network takes
  bool operator==(const ProgramShape&) const = default;
};

class Program {
 public:
  Program(const Fusion& fusion, Layout layout, Arithmetic arithmetic, Mode mode, const ProgramShape& shape);

  const std::vector<Instruction>& instructions() const { return instructions_; }
  int64_t floats() const { return floats_; }  // memory for all maps
  const ProgramShape& shape() const { return shape_; }
  Mode mode() const { return mode_; }
  // Of a value, with padding channels; images: n, or 2n for a pair.
  MapShape map_shape(int value) const;
  // Of a step that is a convolution; of an upsampled one, that of the pooled convolution which is its way
  // back.
  ConvolutionShape convolution_shape(const Step& step) const;
  // Null where there is none. Value: float or Bfloat16, as the map is.
  template <class Value>
  Value* at(float* arena, const MapRef& ref) const {
    if (!ref) return nullptr;
    const MapBuffer& b = buffers_[static_cast<size_t>(ref.buffer)];
    return reinterpret_cast<Value*>(arena + b.offset) +
           ((b.pair ? ref.half : 0) * shape_.n * b.planes + ref.plane) * b.height * b.width * layout_.block;
  }
  // Whether a map holds floats.
  bool wide(const MapRef& ref) const {
    return arithmetic_ != Arithmetic::bfloat16 || buffers_[static_cast<size_t>(ref.buffer)].wide;
  }

 private:
  friend class ProgramBuilder;
  void build();  // the instructions; in program_builder.cpp
  const Fusion& fusion_;
  Layout layout_;
  Arithmetic arithmetic_;
  Mode mode_;
  ProgramShape shape_;
  std::vector<Instruction> instructions_;
  std::vector<MapBuffer> buffers_;
  int64_t floats_ = 0;
};

}  // namespace mdsm::engine::native

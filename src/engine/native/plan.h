// Runs a program (program.h): the kernels of one batch size, image size and mode. A plan owns no memory; it
// is handed the engine's arena.
#pragma once

#include <initializer_list>
#include <span>
#include <vector>

#include "engine/gradient_progress.h"
#include "engine/native/image_head.h"
#include "engine/native/program.h"
#include "engine/native/weights.h"
#include "engine/trainable_energy.h"

namespace mdsm::engine::native {

// What plans of one engine share.
struct NativeNetwork {
  NativeNetwork(const network::Spec& spec, Arithmetic how)
      : NativeNetwork(network::make_graph(spec), spec.input(1), spec.sigma0, how) {}
  NativeNetwork(network::Graph graph, const Shape& images, double kernel, Arithmetic how);

  Shape image;    // of one image
  bool denoiser;  // the network itself is what is trained and asked: there is no energy, or it is left out
  Window window;  // pixels that count, of an image head
  double sigma0;
  Arithmetic arithmetic;
  Fusion fusion;
  Layout layout;

  // Height and width of images filled up to what the network takes.
  ProgramShape shape(int64_t n) const;
};

class Plan {
 public:
  Plan(const NativeNetwork& network, Mode mode, int64_t n);

  const NativeNetwork& network() const { return net_; }
  int64_t arena_count() const { return arena_count_; }
  int64_t batch() const { return n_; }
  Mode mode() const { return program_.mode(); }
  int64_t thread_scratch_count() const { return thread_scratch_count_; }  // that each thread takes beside it
  int64_t kept_weight_count() const;  // floats of weights in the orders of its kernels

  // x, grad_x, clean, noisy: (n,C,H,W) plain; energy, residual: (n); arena: arena_count() floats.
  void energy(NetworkWeights& weights, float* arena, const float* x, std::span<float> energy);
  void gradient(NetworkWeights& weights, float* arena, const float* x, std::span<float> energy,
                float* grad_x);
  // Of a denoiser (network::has_energy) `gradient` wants a plan of mode energy and `objective` one of mode
  // parameters: there is nothing to differentiate twice.
  // Adds d/dtheta sum_n weight_n ‖clean - noisy + sigma0² grad_x(noisy)‖² to the flat gradient.
  void objective(NetworkWeights& weights, float* arena, const float* clean, const float* noisy,
                 std::span<const float> weight, std::span<float> residual, std::span<float> energy,
                 std::span<float> gradient, const GradientProgress::Told& told = {});
  // Adds d/dtheta sum_n weight_n E(x_n) to the flat gradient.
  void energy_gradient(NetworkWeights& weights, float* arena, const float* x, std::span<const float> weight,
                       std::span<float> energy, std::span<float> gradient,
                       const GradientProgress::Told& told = {});

 private:
  // What one call is given.
  struct Call {
    NetworkWeights& weights;
    float* arena;
    const float *x = nullptr, *clean = nullptr;  // x: noisy in training
    std::span<const float> weight{};
    std::span<float> energy{}, residual{}, gradient{};
    float* grad_x = nullptr;
    const GradientProgress::Told* told = nullptr;
  };
  struct Convolved {  // a step that is a convolution
    Convolution convolution;
    std::string name;
    double flop;     // of one pass over n images by the direct algorithm, without padding channels
    bool upsampled;  // the convolution is its way back
  };

  void run(Call call);
  std::vector<size_t> open_ends(const NetworkWeights& weights, size_t parameters) const;
  // Value: what maps are stored as, float or Bfloat16.
  template <class Value>
  void run(const Instruction& one, Call& call);
  template <class Value, class Result>
  void convolve(const Instruction& one, MapOutOf<Result> dst, Call& call);
  template <class Value>
  void gradient(const Instruction& one, Call& call);
  template <class Value>
  void run_elementwise(const Instruction& one, Call& call);
  template <class Value>
  void run_head(const Instruction& one, Call& call);
  template <class Value>
  void input_forward(const Instruction& one, Call& call);
  template <class Value>
  void input_backward(const Instruction& one, Call& call);
  template <class Value>
  void input_gradient(const Instruction& one, Call& call);
  template <class Value>
  void bias_gradient(const Instruction& one, Call& call);
  template <class Value>
  void channels(const Instruction& one, Call& call);
  void tangent_direction(Call& call);
  template <class Value>
  EpilogueOf<Value> epilogue(const Instruction& one, Call& call) const;
  template <class Value>
  Value* at(const MapRef& ref, const Call& call) const {
    return program_.at<Value>(call.arena, ref);
  }
  // Heads compute with floats: a map of the network's last value as such, in memory of its own (there are
  // three) where it is bfloat16.
  int64_t head_count() const;  // floats of each
  float* head_memory(const MapRef& ref, int which, const Call& call) const;
  const float* head_map(const MapRef& ref, int which, const Call& call) const;
  std::span<float> part(const network::ParameterInfo& info, const Call& call) const {
    return call.gradient.subspan(info.offset, info.count);
  }
  double head_flop() const;
  double input_flop() const;
  void with_border(const float* image, float offset, float* bordered) const;
  int64_t bordered_image() const;
  ImageHead image_head() const;
  // Calls body(first plane, last plane) for the planes of n maps of a shape, in parallel.
  template <class Body>
  void for_planes(const MapShape& shape, const Body& body) const;

  const NativeNetwork& net_;
  Shape image_;  // of one image
  Program program_;
  int64_t n_, scratch_count_ = 0, thread_scratch_count_ = 0, arena_count_ = 0;
  int64_t x_at_ = 0, v_at_ = 0, grad_at_ = 0, padded_at_ = 0, scratch_at_ = 0,
          head_at_ = 0;  // places in the arena
  std::vector<std::unique_ptr<Convolved>> steps_;
};

}  // namespace mdsm::engine::native

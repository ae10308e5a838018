#include "engine/native/native_engine.h"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/error.h"
#include "core/threads.h"
#include "engine/bowl.h"
#include "engine/native/kernels.h"
#include "engine/native/muon.h"
#include "engine/native/onednn.h"
#include "engine/native/plan.h"

namespace mdsm::engine {
namespace native {
namespace {

// Larger batches of energies and input gradients are cut into pieces of this size: it bounds memory and costs
// nothing.
constexpr int64_t kPiece = 128;
constexpr size_t kPlansKept = 16;

// A training batch is cut in halves until one needs no more working memory than this, but not below a
// size whose products are too small to be fast (docs/design/engine.md). Maps of bfloat16 have half the size,
// so half of that memory holds as many images.
constexpr int64_t kTrainingBytes = 600 << 20;
constexpr int64_t kLeastTrainingPiece = 32;

int64_t training_piece(const NativeNetwork& network, Mode mode, int64_t n) {
  const int64_t most = network.arithmetic == Arithmetic::bfloat16 ? kTrainingBytes / 2 : kTrainingBytes;
  const auto bytes = [&](int64_t count) {
    return Plan(network, mode, count).arena_count() * static_cast<int64_t>(sizeof(float));
  };
  while (n > kLeastTrainingPiece && bytes(n) > most) n = (n + 1) / 2;
  return n;
}

// Which passes the gradient by x and the denoising objective take: those of a denoiser are plain.
Mode gradient_mode(const NativeNetwork& network) { return network.denoiser ? Mode::energy : Mode::gradient; }
Mode objective_mode(const NativeNetwork& network) {
  return network.denoiser ? Mode::parameters : Mode::training;
}

class NativeEngine : public TrainableEnergy, public GradientProgress {
 public:
  NativeEngine(const network::Parameters& parameters, Arithmetic arithmetic)
      : TrainableEnergy(parameters.spec()),
        network_(spec(), arithmetic),
        weights_(parameters),
        packed_(network_.fusion, network_.image, network_.layout) {
    packed_.set(weights_.values());
  }

  std::string name() const override {
    return network_.arithmetic == Arithmetic::bfloat16 ? "native in bfloat16" : "native";
  }

  void tell_progress(Told told) override { told_ = std::move(told); }

 private:
  // Only the last piece of a batch leaves a gradient that is final.
  Told told_after(int64_t end, int64_t n) const { return end == n ? told_ : Told(); }

  FloatBuffer zeros() const {
    FloatBuffer buffer(weights_.values().size());
    std::fill_n(buffer.data(), buffer.size(), 0.0f);
    return buffer;
  }

  // What only training needs is made when it is first asked for, or before the weights change.
  void make_training_vectors() {
    if (gradient_.size() > 0) return;
    ema_ = zeros();
    m_ = zeros();
    v_ = zeros();
    std::ranges::copy(weights_.values(), ema_.data());
    gradient_ = zeros();
  }

  // The network as a plain denoiser, with the same weights.
  const NativeNetwork& denoiser() {
    if (network_.denoiser) return network_;
    if (!denoiser_) {
      denoiser_ = std::make_unique<NativeNetwork>(network_);
      denoiser_->denoiser = true;
    }
    return *denoiser_;
  }

  // The plan for this batch, most recently used first, with an arena large enough for it.
  Plan& plan(Mode mode, int64_t n) { return plan(network_, mode, n); }
  Plan& plan(const NativeNetwork& network, Mode mode, int64_t n) {
    auto found = std::ranges::find_if(plans_, [&](const auto& p) {
      return &p->network() == &network && p->mode() == mode && p->batch() == n;
    });
    if (found == plans_.end()) {
      if (plans_.size() == kPlansKept) plans_.pop_back();
      found = plans_.insert(plans_.begin(), std::make_unique<Plan>(network, mode, n));
    }
    std::rotate(plans_.begin(), found, found + 1);
    Plan& chosen = *plans_.front();
    if (arena_.size() < static_cast<size_t>(chosen.arena_count())) {
      arena_ = FloatBuffer();  // give the old one back first
      arena_ = FloatBuffer(static_cast<size_t>(chosen.arena_count()));
    }
    return chosen;
  }

  // How a batch is cut in training; the last answer is kept, as finding it means making plans.
  struct Piece {
    int64_t batch = 0, size = 0;
  };
  static int64_t piece_of(Piece& known, const NativeNetwork& network, Mode mode, int64_t n) {
    if (n != known.batch) known = {n, training_piece(network, mode, n)};
    return known.size;
  }

  template <class Body>
  void for_pieces(int64_t n, int64_t piece, const Body& body) {
    for (int64_t first = 0; first < n; first += piece) body(first, std::min(piece, n - first));
  }

  void energy_impl(ConstTensorView x, std::span<float> energy) override {
    for_pieces(x.shape.n, kPiece, [&](int64_t first, int64_t count) {
      plan(Mode::energy, count)
          .energy(packed_, arena_.data(), x.images(first, count).data, energy.subspan(first, count));
    });
  }

  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override {
    for_pieces(x.shape.n, kPiece, [&](int64_t first, int64_t count) {
      plan(gradient_mode(network_), count)
          .gradient(packed_, arena_.data(), x.images(first, count).data, energy.subspan(first, count),
                    grad_x.images(first, count).data);
    });
  }

  void objective_gradient_impl(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                               std::span<float> residual, std::span<float> energy) override {
    objective(network_, objective_piece_, x, noisy, weight, residual, energy);
  }

  void denoiser_gradient_impl(ConstTensorView x, ConstTensorView noisy, std::span<const float> weight,
                              std::span<float> residual, std::span<float> energy) override {
    objective(denoiser(), denoiser_piece_, x, noisy, weight, residual, energy);
  }

  void objective(const NativeNetwork& network, Piece& known, ConstTensorView x, ConstTensorView noisy,
                 std::span<const float> weight, std::span<float> residual, std::span<float> energy) {
    const Mode mode = objective_mode(network);
    make_training_vectors();
    for_pieces(x.shape.n, piece_of(known, network, mode, x.shape.n), [&](int64_t first, int64_t count) {
      plan(network, mode, count)
          .objective(packed_, arena_.data(), x.images(first, count).data, noisy.images(first, count).data,
                     weight.subspan(first, count), residual.subspan(first, count),
                     energy.subspan(first, count), gradient_.span(), told_after(first + count, x.shape.n));
    });
  }

  void energy_gradient_impl(ConstTensorView x, std::span<const float> weight,
                            std::span<float> energy) override {
    make_training_vectors();
    for_pieces(x.shape.n, piece_of(energy_piece_, network_, Mode::parameters, x.shape.n),
               [&](int64_t first, int64_t count) {
                 plan(Mode::parameters, count)
                     .energy_gradient(packed_, arena_.data(), x.images(first, count).data,
                                      weight.subspan(first, count), energy.subspan(first, count),
                                      gradient_.span(), told_after(first + count, x.shape.n));
               });
  }

  void set_window_impl(const Window& window) override {
    network_.window = window;
    if (denoiser_) denoiser_->window = window;
  }

  void zero_gradient_impl() override {
    make_training_vectors();
    std::fill_n(gradient_.data(), gradient_.size(), 0.0f);
  }

  double gradient_norm_impl() override {
    make_training_vectors();
    // Pieces of fixed size, added in order: the same bits with any number of threads.
    constexpr int64_t kPart = 1 << 15;
    const auto count = static_cast<int64_t>(gradient_.size()), parts = (count + kPart - 1) / kPart;
    std::vector<double> sums(static_cast<size_t>(parts));
    parallel_for(parts, 4, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p)
        sums[static_cast<size_t>(p)] =
            kernels().sum_of_squares(gradient_.data() + p * kPart, std::min(kPart, count - p * kPart));
    });
    double total = 0;
    for (const double sum : sums) total += sum;
    return std::sqrt(total);
  }

  void optimiser_step_impl(const OptimiserStep& step) override {
    make_training_vectors();
    if (step.weight_decay > 0) decay(step.kept());
    const auto correction = [&](double beta) {
      return static_cast<float>(1.0 / (1.0 - std::pow(beta, static_cast<double>(step.step))));
    };
    const AdamNumbers numbers{static_cast<float>(step.lr),
                              static_cast<float>(step.beta1),
                              static_cast<float>(step.beta2),
                              static_cast<float>(step.epsilon),
                              static_cast<float>(step.gradient_scale),
                              static_cast<float>(step.ema),
                              correction(step.beta1),
                              correction(step.beta2)};
    const auto adam = [&](int64_t begin, int64_t end) {
      kernels().adam(numbers, gradient_.data() + begin, weights_.values().data() + begin, m_.data() + begin,
                     v_.data() + begin, ema_.data() + begin, end - begin);
    };
    if (step.optimiser == Optimiser::muon)
      muon_step({numbers.lr, numbers.beta1, numbers.gradient_scale, numbers.ema}, adam);
    else
      parallel_for(static_cast<int64_t>(gradient_.size()), 1 << 14, adam);
    packed_.set(weights_.values());
  }

  void decay(float kept) {
    for (const network::ParameterInfo& info : weights_.layout())
      if (is_decaying(info))
        for (float& weight : weights_.values().subspan(info.offset, info.count)) weight *= kept;
  }

  // Every parameter is one thread's.
  template <class Adam>
  void muon_step(const MuonNumbers& numbers, const Adam& adam) {
    const auto& layout = weights_.layout();
    parallel_for(static_cast<int64_t>(layout.size()), 1, [&](int64_t begin, int64_t end) {
      for (int64_t p = begin; p < end; ++p) {
        const network::ParameterInfo& info = layout[static_cast<size_t>(p)];
        if (!is_muon_matrix(info)) {
          adam(info.offset, info.offset + info.count);
          continue;
        }
        const int64_t rows = info.shape[0], at = info.offset;
        muon(numbers, rows, info.count / rows, gradient_.data() + at, weights_.values().data() + at,
             m_.data() + at, ema_.data() + at);
      }
    });
  }

  std::span<float> vector(StateVector which) {
    if (which != StateVector::weights) make_training_vectors();
    switch (which) {
      case StateVector::weights:
        return weights_.values();
      case StateVector::ema:
        return ema_.span();
      case StateVector::adam_m:
        return m_.span();
      case StateVector::adam_v:
        return v_.span();
      case StateVector::gradient:
        return gradient_.span();
    }
    return {};
  }

  void read_impl(StateVector which, std::span<float> out) const override {
    std::ranges::copy(const_cast<NativeEngine*>(this)->vector(which), out.begin());
  }

  void write_impl(StateVector which, std::span<const float> values) override {
    make_training_vectors();
    std::ranges::copy(values, vector(which).begin());
    if (which == StateVector::weights) packed_.set(weights_.values());
  }

  NativeNetwork network_;
  std::unique_ptr<NativeNetwork> denoiser_;  // made when it is first asked for
  network::Parameters weights_;
  NetworkWeights packed_;
  FloatBuffer ema_, m_, v_, gradient_;
  FloatBuffer arena_;
  Piece objective_piece_, denoiser_piece_, energy_piece_;
  Told told_;
  std::vector<std::unique_ptr<Plan>> plans_;
};

}  // namespace
}  // namespace native

std::unique_ptr<TrainableEnergy> make_native_engine(const network::Parameters& parameters,
                                                    NativeArithmetic arithmetic) {
  if (arithmetic == NativeArithmetic::bfloat16) native::require_bfloat16();
  try {
    return with_bowl(std::make_unique<native::NativeEngine>(parameters, arithmetic));
  } catch (const dnnl::error& error) {
    fail("this CPU or oneDNN build may not support the network", "oneDNN: {}", error.what());
  }
}

std::string native_version() {
  const dnnl_version_t* version = dnnl_version();
  return fmt::format(
      "oneDNN {}.{}.{}, own kernels for {}{}", version->major, version->minor, version->patch,
      native::kernels().isa,
      native::has_bfloat16() ? fmt::format(", bfloat16 by {}", native::tile_kernels().name) : "");
}

MemoryNeed native_memory(const network::Spec& spec, int64_t n, NativeArithmetic arithmetic) {
  validate(spec);
  const native::NativeNetwork network(spec, arithmetic);
  const auto bytes = [](int64_t floats) { return sizeof(float) * static_cast<size_t>(floats); };
  const auto working = [&](const native::Plan& plan) {
    return bytes(plan.arena_count() + thread_count() * plan.thread_scratch_count());
  };
  const int64_t piece = std::min(n, native::kPiece), parameters = network::parameter_count(spec);
  const native::Mode objective = native::objective_mode(network);
  const native::Plan energy(network, native::Mode::energy, piece),
      gradient(network, native::gradient_mode(network), piece),
      training(network, objective, native::training_piece(network, objective, n));
  // In training: weights, their average, two moments, the gradient.
  return {bytes(parameters + gradient.kept_weight_count()),
          bytes(5 * parameters + training.kept_weight_count()), working(energy), working(gradient),
          working(training)};
}

}  // namespace mdsm::engine

// What all samplers share: the run they are given (model, seeds, start, observer, stop flag) and the samples
// they give back. Samplers are pure functions of these: no files, no printing.
//
// Sample i of a run is named by seeds[i]. Everything random about it comes from streams of that seed, so its
// image depends on the seed and the options alone, never on batch, threads or place in the batch. The caller
// cuts large numbers of seeds into runs of the batch size it likes; every run costs a few copies of the
// batch.
#pragma once

#include <atomic>
#include <functional>
#include <optional>
#include <span>
#include <vector>

#include "core/random.h"
#include "engine/energy_model.h"
#include "sample/noise.h"

namespace mdsm::sample {

// What an observer sees: x with its energy and gradient, before the step that leaves it. All of it is valid
// during the call only. The denoised image is x - sigma0² grad_x (denoise_into() in denoise.h).
struct StepReport {
  int64_t step = 0;        // 0 for the start; the last report comes before the final jump
  int64_t steps = 0;       // planned, or the most there can be (fast)
  double temperature = 0;  // of the step to come; 0 for fast, ode and the last report
  double sigma = 0;        // mean noise level: estimated (fast), of the grid (ode), else sigma0 sqrt(T)
  std::span<const float> energy;   // (n)
  ConstTensorView x, grad_x;       // (n,C,H,W); n is below the run's when finished samples have left
  std::span<const int64_t> index;  // (n) place of each row in the run's seeds

  double done() const { return steps > 0 ? static_cast<double>(step) / static_cast<double>(steps) : 0; }
};
using Observer = std::function<void(const StepReport&)>;

// What each seed's sample is to show: writes the gradient by x of -log p(that | x), x being a noisy image.
using Attraction = std::function<void(ConstTensorView x, std::span<const uint64_t> seeds, TensorView grad_x)>;

struct Run {
  engine::EnergyModel& model;
  std::span<const uint64_t> seeds;          // one sample each
  std::optional<ConstTensorView> start{};   // (N,C,H,W); without it 0.5 + standard normal noise
  Observer observer{};                      // called once a step; may be empty
  const std::atomic<bool>* stop = nullptr;  // once true, the sampler returns at the next step
  // Where the images lie in larger ones, whose noise they then have.
  const WindowPlace* place = nullptr;
  engine::EnergyModel* guide = nullptr;  // of images of the same shape; for multistep
  Attraction attraction{};               // for multistep; may be empty
};

// One line of the energy trace.
struct TracePoint {
  int64_t step = 0;
  double temperature = 0, sigma = 0;  // as in StepReport
  double energy = 0;                  // mean over the samples still moving
  int64_t samples = 0;                // how many those were
};

struct Samples {
  Tensor x;                   // (N,C,H,W), not clamped to [0,1]
  std::vector<float> energy;  // (N) of the last state before the final jump
  std::vector<float> sigma;  // (N) its noise level as the network sees it, ‖sigma0² grad_x‖/sqrt(pixels)
  int64_t steps = 0;         // made; for fast, by the sample that took longest
  std::vector<int64_t> evaluations;  // (N) gradient evaluations, the final jump's included
  std::vector<TracePoint> trace;     // a point a step, the last before the final jump
  std::vector<double> acceptance;    // (N) mala, hmc: accepted share after burn-in; otherwise empty
  std::vector<double> step_size;     // (N) mala, hmc: eps after adaptation; otherwise empty
  // langevin, mala, hmc at one temperature: energies after burn-in, (draws x N), for diagnostics.h
  std::vector<float> energy_draws;
  bool stopped = false;  // the stop flag ended it early; x is then where the samples were, without the jump

  int64_t gradient_evaluations() const;  // of all samples together
};

// Streams of a sample: what is drawn, and at which step. Values are part of the reproducibility promise.
enum class Draw : uint64_t {
  start = 0,
  step = 1,
  momentum = 2,
  accept = 3,
  clamped = 4,
  jitter = 5,
  mask = 6
};
RandomStream sample_stream(uint64_t seed, Draw draw, uint64_t step = 0);

// (N,C,H,W): 0.5 + sigma n, n from the start stream of each seed.
Tensor start_images(const Shape& image, std::span<const uint64_t> seeds, double sigma = 1,
                    const WindowPlace* place = nullptr);

}  // namespace mdsm::sample

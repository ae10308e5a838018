#include "bench/native_steps.h"

#include <chrono>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "io/npy.h"
#include "sample/langevin.h"
#include "train/noise.h"

namespace mdsm::bench {
namespace {

using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

}  // namespace

NativeSteps::NativeSteps(Problem problem, const StepNumbers& numbers)
    : problem_(std::move(problem)),
      numbers_(numbers),
      engine_(
          engine::make_engine({.exact = numbers.exact, .precision = numbers.precision}, problem_.parameters)),
      noisy_(problem_.clean.shape()),
      residual_(problem_.sigma.size()),
      energy_(problem_.sigma.size()),
      likelihood_({.buffer = problem_.clean.shape().n}) {}

double NativeSteps::train(int64_t repeat) {
  const auto start = Clock::now();
  for (int64_t i = 0; i < repeat; ++i) {
    train::add_training_noise(problem_.clean, problem_.sigma, numbers_.seed, step_, noisy_);
    engine_->zero_gradient();
    engine_->objective_gradient(problem_.clean, noisy_, problem_.weight, residual_, energy_);
    engine::OptimiserStep adam;
    adam.step = ++step_;
    adam.lr = numbers_.lr;
    adam.ema = numbers_.ema;
    adam.epsilon = 1e-8 * std::pow(engine_->spec().sigma0, 4);
    engine_->optimiser_step(adam);
  }
  const double seconds = seconds_since(start) / static_cast<double>(repeat);
  const double loss = train::normalised_loss(residual_, problem_.sigma);
  if (!std::isfinite(loss)) fail("this is a bug in the engine", "training gave a loss of {}", loss);
  return seconds;
}

double NativeSteps::likelihood(int64_t repeat) {
  train::TrainOptions options;
  options.batch = problem_.clean.shape().n;
  options.sigma0 = engine_->spec().sigma0;
  options.seed = static_cast<int64_t>(numbers_.seed);
  train::TrainObserver silent;
  const train::TrainingContext run{*engine_, options, silent};
  likelihood_.begin(run);
  const auto start = Clock::now();
  for (int64_t i = 0; i < repeat; ++i) {
    train::StepResult result;
    engine_->zero_gradient();
    likelihood_.gradient(run, step_, problem_.clean, false, result);
    if (!std::isfinite(result.loss)) fail("this is a bug in the engine", "the loss is {}", result.loss);
    engine::OptimiserStep adam;
    adam.step = ++step_;
    adam.lr = numbers_.lr;
    adam.ema = numbers_.ema;
    engine_->optimiser_step(adam);
    likelihood_.applied();
  }
  return seconds_since(start) / static_cast<double>(repeat);
}

// The sampler itself: its observer is called once a step, always at the same place in it.
double NativeSteps::langevin(int64_t repeat) {
  std::vector<uint64_t> seeds(problem_.sigma.size());
  std::iota(seeds.begin(), seeds.end(), numbers_.seed);
  Clock::time_point first, last;
  sample::Run run{*engine_, seeds};
  run.observer = [&](const sample::StepReport& report) {
    last = Clock::now();
    if (report.step == 0) first = last;
  };
  sample::LangevinOptions options;
  options.eps = numbers_.eps;
  options.jump = false;
  sample::annealed_langevin(run, sample::constant_schedule(1, repeat), options);
  return std::chrono::duration<double>(last - first).count() / static_cast<double>(repeat);
}

Profile NativeSteps::profile(Task task, int64_t repeat) {
  engine::native_profile_start();
  Profile profile;
  profile.seconds = task == Task::training ? train(repeat) : langevin(repeat);
  profile.layers = engine::native_profile_stop();
  // A Langevin run evaluates once more than it steps.
  const double steps = static_cast<double>(task == Task::training ? repeat : repeat + 1);
  for (engine::LayerTime& layer : profile.layers) {
    layer.seconds /= steps;
    layer.flop /= steps;
  }
  return profile;
}

void NativeSteps::verify(const fs::path& folder) {
  const Shape shape = problem_.noisy.shape();
  const std::vector<int64_t> numbers = {shape.n};
  Tensor grad_x(shape);
  std::vector<float> gradient(problem_.parameters.values().size());
  engine_->energy(problem_.noisy, energy_);
  io::write_npy(folder / "energy.npy", numbers, energy_);
  engine_->energy_and_gradient(problem_.noisy, energy_, grad_x);
  io::write_npy(folder / "grad_x.npy", {shape.n, shape.c, shape.h, shape.w}, grad_x.values());
  engine_->zero_gradient();
  engine_->objective_gradient(problem_.clean, problem_.noisy, problem_.weight, residual_, energy_);
  engine_->read(engine::StateVector::gradient, gradient);
  io::write_npy(folder / "residual.npy", numbers, residual_);
  io::write_npy(folder / "gradient.npy", {static_cast<int64_t>(gradient.size())}, gradient);
}

}  // namespace mdsm::bench

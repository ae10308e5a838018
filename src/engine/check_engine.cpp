#include "engine/check_engine.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"

namespace mdsm::engine {
namespace {

struct Comparison {
  double difference = 0, reference = 0;  // ‖a - b‖ and ‖b‖
  size_t worst = 0;                      // where |a - b| is largest, or the first value that is not a number
};

Comparison compare_values(std::span<const float> a, std::span<const float> b) {
  Comparison result;
  double largest = -1;
  for (size_t i = 0; i < a.size(); ++i) {
    const double d = std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i]));
    result.difference += d * d;
    result.reference += static_cast<double>(b[i]) * static_cast<double>(b[i]);
    if (std::isnan(largest) || d <= largest) continue;
    largest = d;
    result.worst = i;
  }
  result.difference = std::sqrt(result.difference);
  result.reference = std::sqrt(result.reference);
  return result;
}

// 0 when both are exactly zero; infinity when only the reference is.
double relative(double difference, double scale) { return difference == 0 ? 0 : difference / scale; }

std::vector<float> read_state(const TrainableEnergy& engine, StateVector which) {
  std::vector<float> values(static_cast<size_t>(network::parameter_count(engine.spec())));
  engine.read(which, values);
  return values;
}

std::vector<float> difference(std::vector<float> a, const std::vector<float>& b) {
  for (size_t i = 0; i < a.size(); ++i) a[i] -= b[i];
  return a;
}

constexpr std::pair<StateVector, const char*> kStepped[] = {{StateVector::adam_m, "adam_m after a step"},
                                                            {StateVector::adam_v, "adam_v after a step"},
                                                            {StateVector::weights, "weights after a step"},
                                                            {StateVector::ema, "ema after a step"}};

}  // namespace

CheckEngine::CheckEngine(std::unique_ptr<TrainableEnergy> tested, std::unique_ptr<TrainableEnergy> reference,
                         CheckTolerance tolerance)
    : TrainableEnergy(tested->spec()),
      tested_(std::move(tested)),
      reference_(std::move(reference)),
      tolerance_(tolerance),
      layout_(network::parameter_layout(spec())) {
  if (!(tested_->spec() == reference_->spec()))
    fail("this is a bug in the caller", "the two engines to compare hold different networks");
}

std::string CheckEngine::name() const {
  return "check (" + tested_->name() + " against " + reference_->name() + ")";
}

void CheckEngine::compare(const std::string& what, std::span<const float> tested,
                          std::span<const float> reference, double tolerance, double least_scale) {
  const Comparison c = compare_values(tested, reference);
  record({what, relative(c.difference, std::max(c.reference, least_scale)), tolerance,
          fmt::format("[{}] {:.8g} against {:.8g}", c.worst, tested[c.worst], reference[c.worst])});
}

void CheckEngine::record(const Difference& difference) {
  const auto known = std::find_if(worst_.begin(), worst_.end(),
                                  [&](const Difference& d) { return d.what == difference.what; });
  if (known == worst_.end())
    worst_.push_back(difference);
  else if (!(difference.relative <= known->relative))  // a NaN is worse than any number
    *known = difference;
  if (throwing_ && !difference.ok())
    fail("mdsm check shows all differences", "{} differs: {} by {:.2e} (tolerance {:.0e}), worst at {}",
         name(), difference.what, difference.relative, difference.tolerance, difference.worst_place);
}

// An energy is known up to a constant, which the head's last bias sets. Where that bias happens to cancel the
// rest, the difference is held against the rest and not against the small sum.
void CheckEngine::compare_energies(std::span<const float> tested, std::span<const float> reference) {
  const double bias = static_cast<double>(read_state(*reference_, StateVector::weights).back());
  double squares = 0;
  for (const float e : reference) squares += std::pow(static_cast<double>(e) - bias, 2);
  compare("energy", tested, reference, tolerance_.energy, std::sqrt(squares));
}

// A parameter whose gradient nearly cancels out cannot be right to the last digit of its own size, so its
// difference is held against the size that float32 allows: at least kShare of an even share of the whole.
void CheckEngine::compare_gradients(std::span<const float> a, std::span<const float> b) {
  constexpr double kShare = 1e-2;
  const double even = compare_values(b, b).reference / std::sqrt(static_cast<double>(b.size()));
  for (const network::ParameterInfo& info : layout_) {
    const auto part = [&](std::span<const float> all) {
      return all.subspan(static_cast<size_t>(info.offset), static_cast<size_t>(info.count));
    };
    compare("gradient of " + info.name, part(a), part(b), tolerance_.parameter,
            kShare * even * std::sqrt(static_cast<double>(info.count)));
  }
  compare("gradient", a, b, tolerance_.gradient);
}

void CheckEngine::energy_impl(ConstTensorView x, std::span<float> energy) {
  std::vector<float> other(energy.size());
  tested_->energy(x, energy);
  reference_->energy(x, other);
  compare_energies(energy, other);
}

void CheckEngine::energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) {
  std::vector<float> other(energy.size());
  Tensor other_grad_x(x.shape);
  tested_->energy_and_gradient(x, energy, grad_x);
  reference_->energy_and_gradient(x, other, other_grad_x);
  compare_energies(energy, other);
  compare("grad_x", grad_x.values(), other_grad_x.values(), tolerance_.grad_x);
}

void CheckEngine::objective_gradient_impl(ConstTensorView x, ConstTensorView noisy,
                                          std::span<const float> weight, std::span<float> residual,
                                          std::span<float> energy) {
  compare_objective(&TrainableEnergy::objective_gradient, x, noisy, weight, residual, energy);
}

void CheckEngine::denoiser_gradient_impl(ConstTensorView x, ConstTensorView noisy,
                                         std::span<const float> weight, std::span<float> residual,
                                         std::span<float> energy) {
  compare_objective(&TrainableEnergy::denoiser_gradient, x, noisy, weight, residual, energy);
}

void CheckEngine::compare_objective(ObjectiveCall call, ConstTensorView x, ConstTensorView noisy,
                                    std::span<const float> weight, std::span<float> residual,
                                    std::span<float> energy) {
  std::vector<float> other_residual(residual.size()), other_energy(energy.size());
  ((*tested_).*call)(x, noisy, weight, residual, energy);
  ((*reference_).*call)(x, noisy, weight, other_residual, other_energy);
  compare_energies(energy, other_energy);
  compare("residual", residual, other_residual, tolerance_.residual);
  compare_gradients(read_state(*tested_, StateVector::gradient),
                    read_state(*reference_, StateVector::gradient));
}

void CheckEngine::energy_gradient_impl(ConstTensorView x, std::span<const float> weight,
                                       std::span<float> energy) {
  std::vector<float> other(energy.size());
  // Only what this call adds: energies of opposite weights cancel, some parameters' gradients altogether.
  const std::vector<float> a = read_state(*tested_, StateVector::gradient),
                           b = read_state(*reference_, StateVector::gradient);
  tested_->energy_gradient(x, weight, energy);
  reference_->energy_gradient(x, weight, other);
  compare_energies(energy, other);
  compare_gradients(difference(read_state(*tested_, StateVector::gradient), a),
                    difference(read_state(*reference_, StateVector::gradient), b));
}

void CheckEngine::set_window_impl(const Window& window) {
  tested_->set_window(window);
  reference_->set_window(window);
}

void CheckEngine::zero_gradient_impl() {
  tested_->zero_gradient();
  reference_->zero_gradient();
}

double CheckEngine::gradient_norm_impl() {
  const double norm = tested_->gradient_norm();
  const auto a = static_cast<float>(norm), b = static_cast<float>(reference_->gradient_norm());
  compare("gradient norm", {&a, 1}, {&b, 1}, tolerance_.gradient);
  return norm;
}

// Both take the step from the tested engine's gradient, which compares the optimisers alone, and the
// reference goes on from the tested engine's result: Adam divides small gradients by their own size, so
// rounding would drive the two apart step by step.
void CheckEngine::optimiser_step_impl(const OptimiserStep& step) {
  reference_->write(StateVector::gradient, read_state(*tested_, StateVector::gradient));
  tested_->optimiser_step(step);
  reference_->optimiser_step(step);
  for (const auto& [which, what] : kStepped) {
    const std::vector<float> values = read_state(*tested_, which);
    compare(what, values, read_state(*reference_, which), tolerance_.step);
    reference_->write(which, values);
  }
}

void CheckEngine::read_impl(StateVector which, std::span<float> out) const { tested_->read(which, out); }

void CheckEngine::write_impl(StateVector which, std::span<const float> values) {
  tested_->write(which, values);
  reference_->write(which, values);
}

}  // namespace mdsm::engine

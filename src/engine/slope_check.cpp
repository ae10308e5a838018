#include "engine/slope_check.h"

#include <algorithm>
#include <cmath>
#include <functional>

#include "core/error.h"

namespace mdsm::engine {
namespace {

double norm(std::span<const float> values) {
  double total = 0;
  for (const float value : values) total += static_cast<double>(value) * static_cast<double>(value);
  return std::sqrt(total);
}

// out = centre + distance * direction / length
void move(std::span<const float> centre, std::span<const float> direction, double length, double distance,
          std::span<float> out) {
  for (size_t k = 0; k < out.size(); ++k)
    out[k] = static_cast<float>(static_cast<double>(centre[k]) +
                                distance * static_cast<double>(direction[k]) / length);
}

// Central differences at h and h/2 combined, which leaves an error of order h^4 and so allows steps large
// enough to stand out from the rounding of float32.
double central_slope(const std::function<double(double)>& f, double h) {
  const double wide = (f(h) - f(-h)) / (2 * h), narrow = (f(h / 2) - f(-h / 2)) / h;
  return (4 * narrow - wide) / 3;
}

Difference slope_difference(const std::string& what, double length, double slope, double tolerance,
                            const std::string& where) {
  const double difference = std::abs(length - slope);
  return {what, difference == 0 ? 0 : difference / std::abs(slope), tolerance,
          fmt::format("{}{:.8g} against {:.8g}", where, length, slope)};
}

// The objective at weights moved along its gradient, without the part that does not depend on them: per image
// 2 <x - noisy, d> + ‖d‖² with d = sigma0² grad_x. The rounding of ‖x - noisy‖² would hide the change.
class ObjectiveAlongGradient {
 public:
  ObjectiveAlongGradient(TrainableEnergy& engine, ConstTensorView x, ConstTensorView noisy,
                         std::span<const float> weight)
      : engine_(engine), x_(x), noisy_(noisy), weight_(weight), grad_x_(x.shape), energy_(weight.size()) {
    start_ = state(StateVector::weights);
    before_ = state(StateVector::gradient);
    std::vector<float> residual(weight.size());
    engine.zero_gradient();
    engine.objective_gradient(x, noisy, weight, residual, energy_);
    gradient_ = state(StateVector::gradient);
    length_ = norm(gradient_);
  }
  void restore() {
    engine_.write(StateVector::weights, start_);
    engine_.write(StateVector::gradient, before_);
  }

  double length() const { return length_; }

  double operator()(double distance) {
    std::vector<float> moved(start_.size());
    move(start_, gradient_, length_, distance, moved);
    engine_.write(StateVector::weights, moved);
    engine_.energy_and_gradient(noisy_, energy_, grad_x_);
    double total = 0;
    for_each_value(
        [&](double weight, double difference, double d) { total += weight * (2 * difference + d) * d; });
    return total;
  }

  // A step that changes the objective enough to be seen and the weights little.
  double step() {
    (*this)(0);
    double squares = 0;  // of the products that make up the objective, which cancel for the most part
    for_each_value([&](double weight, double difference, double d) {
      squares += std::pow(weight * (2 * difference + d) * d, 2);
    });
    return std::min(0.05 * std::sqrt(squares) / length_, 0.01 * norm(start_));
  }

 private:
  template <class Body>
  void for_each_value(const Body& body) const {
    const double scale = engine_.sigma0() * engine_.sigma0();
    const auto x = x_.values(), noisy = noisy_.values(), grad_x = grad_x_.values();
    const auto per_image = static_cast<size_t>(x_.shape.per_image());
    for (size_t k = 0; k < x.size(); ++k)
      body(static_cast<double>(weight_[k / per_image]),
           static_cast<double>(x[k]) - static_cast<double>(noisy[k]), scale * static_cast<double>(grad_x[k]));
  }
  std::vector<float> state(StateVector which) const {
    std::vector<float> values(static_cast<size_t>(network::parameter_count(engine_.spec())));
    engine_.read(which, values);
    return values;
  }

  TrainableEnergy& engine_;
  ConstTensorView x_, noisy_;
  std::span<const float> weight_;
  Tensor grad_x_;
  std::vector<float> energy_, start_, before_, gradient_;
  double length_ = 0;
};

}  // namespace

Difference input_slope(EnergyModel& engine, ConstTensorView x, double tolerance) {
  Tensor grad_x(x.shape), moved(x.shape.with_n(1));
  std::vector<float> energy(static_cast<size_t>(x.shape.n));
  engine.energy_and_gradient(x, energy, grad_x);
  Difference worst{"grad_x against differences of E", -1, tolerance, ""};
  for (int64_t i = 0; i < x.shape.n; ++i) {
    const auto direction = std::as_const(grad_x).view().image(i);
    const double length = norm(direction);
    const auto along = [&](double distance) {
      move(x.image(i), direction, length, distance, moved.values());
      float e = 0;
      engine.energy(moved, {&e, 1});
      return static_cast<double>(e);
    };
    const double size = std::abs(static_cast<double>(energy[static_cast<size_t>(i)]));
    const double h = std::min(0.05 * std::max(size, 0.01) / length, 0.2 * norm(x.image(i)));
    const Difference d = slope_difference(worst.what, length, central_slope(along, h), tolerance,
                                          fmt::format("image {}: ", i));
    if (!(d.relative <= worst.relative)) worst = d;
  }
  return worst;
}

Difference objective_slope(TrainableEnergy& engine, ConstTensorView x, ConstTensorView noisy,
                           std::span<const float> weight, double tolerance) {
  ObjectiveAlongGradient along(engine, x, noisy, weight);
  const double slope = central_slope(std::ref(along), along.step());
  along.restore();
  return slope_difference("gradient against differences of the objective", along.length(), slope, tolerance,
                          "");
}

}  // namespace mdsm::engine

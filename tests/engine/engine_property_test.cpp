// One property test for everything differentiable: every engine that this build has (native with and without
// Winograd's convolutions), on every network, head and number of channels, against the double-precision
// reference and against its own definition.
#include <gtest/gtest.h>

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/threads.h"
#include "engine/registry/registry.h"
#include "engine/support.h"

namespace mdsm::test {
namespace {

using engine::EngineKind;

constexpr int64_t kImages = 3;

// The size of the terms an energy of these networks is summed from: where they cancel, float32 keeps the
// digits of the terms and not of the sum.
constexpr double kTerms = 1;

template <class A, class B>
double energy_error(const A& a, const B& b) {
  return norm_of_difference(a, b) / std::max(norm(b), kTerms);
}

struct Results {
  std::vector<float> energy, residual, gradient;
  Tensor grad_x;
};

Results evaluate(engine::TrainableEnergy& engine, ConstTensorView x, ConstTensorView noisy,
                 std::span<const float> weight) {
  const auto n = static_cast<size_t>(x.shape.n);
  Results r{std::vector<float>(n), std::vector<float>(n),
            std::vector<float>(static_cast<size_t>(network::parameter_count(engine.spec()))),
            Tensor(x.shape)};
  engine.energy_and_gradient(noisy, r.energy, r.grad_x);
  engine.zero_gradient();
  engine.objective_gradient(x, noisy, weight, r.residual, r.energy);
  engine.read(engine::StateVector::gradient, r.gradient);
  return r;
}

std::vector<float> state(const engine::TrainableEnergy& engine, engine::StateVector which) {
  std::vector<float> values(static_cast<size_t>(network::parameter_count(engine.spec())));
  engine.read(which, values);
  return values;
}

struct Expected {
  Vector energy, residual, grad_x, gradient;
  Vector energy_gradient;  // of sum_i kEnergyWeights_i E(noisy_i)
};

// Both signs, as maximum likelihood has them.
constexpr float kEnergyWeights[kImages] = {0.5f, -0.75f, 0.125f};

// From the reference, once for all engines: it takes longer than they do.
const Expected& expected(const network::Spec& spec, const network::Parameters& parameters,
                         const Batch& batch) {
  static std::map<std::tuple<network::Network, network::Head, int64_t>, Expected> known;
  const auto [found, is_new] = known.try_emplace({spec.network, spec.head, spec.channels});
  Expected& e = found->second;
  if (!is_new) return e;
  const Reference reference(spec, parameters.values());
  e.gradient.resize(parameters.values().size());
  e.energy_gradient.resize(parameters.values().size());
  for (int64_t i = 0; i < kImages; ++i) {
    const Map noisy = map_of(batch.noisy, i);
    const Objective o = reference.objective(
        map_of(batch.x, i), noisy, static_cast<double>(batch.weight[static_cast<size_t>(i)]), e.gradient);
    e.energy.push_back(o.energy);
    e.residual.push_back(o.residual);
    reference.energy_gradient(noisy, static_cast<double>(kEnergyWeights[i]), e.energy_gradient);
    const Map g = reference.grad_x(noisy);
    e.grad_x.insert(e.grad_x.end(), g.v.begin(), g.v.end());
  }
  return e;
}

struct TestedEngine {
  EngineKind kind;
  bool exact = false;  // the native engine held to direct convolutions
};
std::string name_of(const TestedEngine& engine) {
  return std::string(to_string(engine.kind)) + (engine.exact ? "_exact" : "");
}
void PrintTo(const TestedEngine& engine, std::ostream* out) { *out << name_of(engine); }

// A multiple of 16 (the layout of AVX-512 kernels) and 12, which leaves padding channels, as far as the
// reference is fast enough for it.
int64_t width_of(network::Network network, int64_t channels) {
  if (network == network::Network::res34) return 4;
  if (network == network::Network::res18) return channels == 1 ? 8 : 12;
  return channels == 1 ? 16 : 12;
}

using Case = std::tuple<TestedEngine, network::Network, network::Head, int64_t>;

class EngineProperty : public testing::TestWithParam<Case> {
 protected:
  EngineProperty()
      : spec_(small_spec(std::get<1>(GetParam()), std::get<2>(GetParam()), std::get<3>(GetParam()),
                         width_of(std::get<1>(GetParam()), std::get<3>(GetParam())))),
        parameters_(lively_parameters(spec_, 5)),
        engine_(engine::make_engine({.engine = tested().kind, .exact = tested().exact}, parameters_)),
        batch_(spec_, kImages) {}

  static const TestedEngine& tested() { return std::get<0>(GetParam()); }

  std::vector<float> energies(ConstTensorView x) {
    std::vector<float> result(static_cast<size_t>(x.shape.n));
    engine_->energy(x, result);
    return result;
  }

  void expect_gradient(std::span<const float> found, std::span<const double> wanted) const {
    EXPECT_LT(relative_error(found, wanted), 1e-4);
    for (const network::ParameterInfo& info : parameters_.layout())
      EXPECT_LT(norm_of_difference(part(found, info), part(wanted, info)),
                1e-3 * norm(part(wanted, info)) + 1e-6 * norm(wanted))
          << info.name;
  }

  network::Spec spec_;
  network::Parameters parameters_;
  std::unique_ptr<engine::TrainableEnergy> engine_;
  Batch batch_;
};

TEST_P(EngineProperty, AgreesWithTheReference) {
  const auto& [energy, residual, grad_x, gradient, unused] = expected(spec_, parameters_, batch_);
  const Results found = evaluate(*engine_, batch_.x, batch_.noisy, batch_.weight);
  EXPECT_LT(energy_error(energies(batch_.noisy), energy), 1e-5);
  EXPECT_LT(energy_error(found.energy, energy), 1e-5);
  EXPECT_LT(relative_error(found.grad_x.values(), grad_x), 1e-4);
  EXPECT_LT(relative_error(found.residual, residual), 1e-5);
  expect_gradient(found.gradient, gradient);
}

TEST_P(EngineProperty, EnergyGradientAgreesWithTheReferenceAndAddsUp) {
  const Expected& wanted = expected(spec_, parameters_, batch_);
  const std::span<const float> weight(kEnergyWeights);
  std::vector<float> energy(kImages);
  engine_->zero_gradient();
  engine_->energy_gradient(batch_.noisy, weight, energy);
  expect_gradient(state(*engine_, engine::StateVector::gradient), wanted.energy_gradient);
  EXPECT_LT(energy_error(energy, wanted.energy), 1e-5);

  // On top of it the objective's gradient, and in between another mode that uses the same memory.
  const Results objective = evaluate(*engine_, batch_.x, batch_.noisy, batch_.weight);
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 1}, {1, 2}})
    engine_->energy_gradient(batch_.noisy.view().images(first, count),
                             weight.subspan(static_cast<size_t>(first), static_cast<size_t>(count)),
                             std::span(energy).first(static_cast<size_t>(count)));
  std::vector<float> rest = state(*engine_, engine::StateVector::gradient);
  for (size_t i = 0; i < rest.size(); ++i) rest[i] -= objective.gradient[i];
  EXPECT_LT(norm_of_difference(rest, wanted.energy_gradient),
            1e-4 * (norm(wanted.energy_gradient) + norm(wanted.gradient)));
}

// Many images take other ways through the native engine, also here.
TEST_P(EngineProperty, EnergyGradientOfManyImages) {
  constexpr int64_t kTimes = 16;
  Tensor many(spec_.input(kTimes * kImages));
  std::vector<float> weight(static_cast<size_t>(kTimes * kImages)), energy(weight.size());
  for (int64_t i = 0; i < kTimes * kImages; ++i) {
    std::ranges::copy(std::as_const(batch_.noisy).view().image(i % kImages), many.view().image(i).begin());
    weight[static_cast<size_t>(i)] = kEnergyWeights[i % kImages] / static_cast<float>(kTimes);
  }
  engine_->zero_gradient();
  engine_->energy_gradient(many, weight, energy);
  expect_gradient(state(*engine_, engine::StateVector::gradient),
                  expected(spec_, parameters_, batch_).energy_gradient);
}

// The native engine takes other ways where there are many images; here the same ones over and over.
TEST_P(EngineProperty, ManyImagesAgreeWithTheReference) {
  if (tested().exact) GTEST_SKIP() << "goes the same way with any number of images";
  constexpr int64_t kTimes = 16;
  Batch many(spec_, kTimes * kImages);
  for (int64_t i = 0; i < kTimes * kImages; ++i) {
    std::ranges::copy(std::as_const(batch_.x).view().image(i % kImages), many.x.view().image(i).begin());
    std::ranges::copy(std::as_const(batch_.noisy).view().image(i % kImages),
                      many.noisy.view().image(i).begin());
    many.weight[static_cast<size_t>(i)] = batch_.weight[static_cast<size_t>(i % kImages)] / kTimes;
  }
  const Expected& wanted = expected(spec_, parameters_, batch_);
  const Results found = evaluate(*engine_, many.x, many.noisy, many.weight);
  expect_gradient(found.gradient, wanted.gradient);
  const size_t image = wanted.grad_x.size() / kImages;
  for (size_t i = 0; i < found.energy.size(); ++i) {
    const size_t same = i % kImages;
    EXPECT_NEAR(found.energy[i], wanted.energy[same], 1e-5 * std::max(norm(wanted.energy), kTerms));
    EXPECT_NEAR(found.residual[i], wanted.residual[same], 1e-5 * wanted.residual[same]);
    EXPECT_LT(relative_error(found.grad_x.view().image(static_cast<int64_t>(i)),
                             std::span(wanted.grad_x).subspan(same * image, image)),
              1e-4);
  }
}

TEST_P(EngineProperty, InputGradientIsTheSlopeOfTheEnergy) {
  // Along the gradient itself the change of the energy is largest, so float32 leaves the most digits.
  Tensor grad_x(batch_.noisy.shape());
  std::vector<float> energy(kImages);
  engine_->energy_and_gradient(batch_.noisy, energy, grad_x);
  const double step = 0.03;
  Tensor above(grad_x.shape()), below(grad_x.shape());
  for (int64_t i = 0; i < kImages; ++i) {
    const double length = norm(grad_x.view().image(i));
    for (size_t k = 0; k < above.view().image(i).size(); ++k) {
      const double centre = static_cast<double>(batch_.noisy.view().image(i)[k]);
      const double move = step * static_cast<double>(grad_x.view().image(i)[k]) / length;
      above.view().image(i)[k] = static_cast<float>(centre + move);
      below.view().image(i)[k] = static_cast<float>(centre - move);
    }
  }
  const std::vector<float> high = energies(above), low = energies(below);
  for (int64_t i = 0; i < kImages; ++i) {
    const auto k = static_cast<size_t>(i);
    const double length = norm(grad_x.view().image(i));
    EXPECT_NEAR((static_cast<double>(high[k]) - static_cast<double>(low[k])) / (2 * step), length,
                1e-2 * length);
  }
}

TEST_P(EngineProperty, MicroBatchesAddUp) {
  const Results whole = evaluate(*engine_, batch_.x, batch_.noisy, batch_.weight);
  engine_->zero_gradient();
  std::vector<float> residual(kImages), energy(kImages);
  const std::span weight(batch_.weight);
  for (const auto& [first, count] : {std::pair<int64_t, int64_t>{0, 2}, {2, 1}}) {
    const auto f = static_cast<size_t>(first), c = static_cast<size_t>(count);
    engine_->objective_gradient(batch_.x.view().images(first, count),
                                batch_.noisy.view().images(first, count), weight.subspan(f, c),
                                std::span(residual).subspan(f, c), std::span(energy).subspan(f, c));
  }
  EXPECT_LT(relative_error(state(*engine_, engine::StateVector::gradient), whole.gradient), 1e-5);
  EXPECT_LT(relative_error(residual, whole.residual), 1e-5);
  EXPECT_LT(energy_error(energy, whole.energy), 1e-5);
}

TEST_P(EngineProperty, AnImageDoesNotSeeItsNeighbours) {
  const Batch five(spec_, 5, 9);
  Tensor together(five.noisy.shape()), alone(spec_.input(1));
  std::vector<float> energy(5), single(1);
  engine_->energy_and_gradient(five.noisy, energy, together);
  const bool same_bits = tested().kind == EngineKind::native;
  for (int64_t i = 0; i < 5; ++i) {
    engine_->energy_and_gradient(five.noisy.view().images(i, 1), single, alone);
    if (same_bits) {
      EXPECT_EQ(single[0], energy[static_cast<size_t>(i)]);
      EXPECT_TRUE(std::ranges::equal(alone.values(), together.view().image(i)));
    }
    EXPECT_NEAR(single[0], energy[static_cast<size_t>(i)], 1e-5 * std::max(norm(energy), kTerms));
    EXPECT_LT(relative_error(alone.values(), together.view().image(i)), 1e-5);
  }
}

TEST_P(EngineProperty, OptimiserStepsAreAdamAndMovingAverage) {
  const size_t count = parameters_.values().size();
  const auto start = std::as_const(parameters_).values();
  Vector w(start.begin(), start.end()), ema = w, m(count), v(count);
  EXPECT_EQ(state(*engine_, engine::StateVector::ema), std::vector<float>(start.begin(), start.end()));
  for (int64_t t = 1; t <= 3; ++t) {
    const engine::OptimiserStep step{t, 0.01 / static_cast<double>(t), 0.9, 0.95, 1e-8, 0.5, 0.9};
    std::vector<float> g(count);
    RandomStream(static_cast<uint64_t>(t), Purpose::check).fill_normal(g);
    for (float& value : g) value *= 0.01f;
    engine_->write(engine::StateVector::gradient, g);
    engine_->optimiser_step(step);
    const double c1 = 1 - std::pow(step.beta1, t), c2 = 1 - std::pow(step.beta2, t);
    for (size_t i = 0; i < count; ++i) {
      const double scaled = step.gradient_scale * static_cast<double>(g[i]);
      m[i] = step.beta1 * m[i] + (1 - step.beta1) * scaled;
      v[i] = step.beta2 * v[i] + (1 - step.beta2) * scaled * scaled;
      w[i] -= step.lr * (m[i] / c1) / (std::sqrt(v[i] / c2) + step.epsilon);
      ema[i] = step.ema * ema[i] + (1 - step.ema) * w[i];
    }
  }
  EXPECT_LT(relative_error(state(*engine_, engine::StateVector::adam_m), m), 1e-6);
  EXPECT_LT(relative_error(state(*engine_, engine::StateVector::adam_v), v), 1e-6);
  EXPECT_LT(relative_error(state(*engine_, engine::StateVector::weights), w), 1e-6);
  EXPECT_LT(relative_error(state(*engine_, engine::StateVector::ema), ema), 1e-6);
  // The network computes with the new weights.
  const auto stepped = state(*engine_, engine::StateVector::weights);
  const Reference reference(spec_, std::span<const float>(stepped));
  const double expected = reference.energy(map_of(batch_.noisy, 0));
  EXPECT_NEAR(energies(batch_.noisy.view().images(0, 1))[0], expected,
              1e-5 * std::max(std::abs(expected), kTerms));
}

TEST_P(EngineProperty, StateGoesInAndOutUnchanged) {
  for (const engine::StateVector which :
       {engine::StateVector::weights, engine::StateVector::ema, engine::StateVector::adam_m,
        engine::StateVector::adam_v, engine::StateVector::gradient}) {
    std::vector<float> values(parameters_.values().size());
    RandomStream(40 + static_cast<uint64_t>(which), Purpose::check).fill_uniform(values, -0.1f, 0.1f);
    engine_->write(which, values);
    EXPECT_EQ(state(*engine_, which), values);
  }
  EXPECT_NEAR(engine_->gradient_norm(), norm(state(*engine_, engine::StateVector::gradient)),
              1e-6 * engine_->gradient_norm());
  engine_->zero_gradient();
  EXPECT_EQ(engine_->gradient_norm(), 0);
  std::vector<float> broken(parameters_.values().size());
  broken[broken.size() / 2] = std::numeric_limits<float>::quiet_NaN();
  engine_->write(engine::StateVector::gradient, broken);
  EXPECT_FALSE(std::isfinite(engine_->gradient_norm()));
}

std::vector<TestedEngine> single_engines() {
  std::vector<TestedEngine> engines;
  for (const EngineKind kind : engine::available_engines())
    if (kind != EngineKind::check) engines.push_back({kind});
  engines.push_back({EngineKind::native, true});
  return engines;
}

std::string word(network::Head head) {
  std::string name = to_string(head);
  std::ranges::replace(name, '-', '_');
  return name;
}
std::string name_of_case(const testing::TestParamInfo<Case>& made) {
  const auto& [engine, network, head, channels] = made.param;
  return name_of(engine) + "_" + to_string(network) + "_" + word(head) + "_" + std::to_string(channels) +
         "ch";
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineProperty,
                         testing::Combine(testing::ValuesIn(single_engines()),
                                          testing::Values(network::Network::res6, network::Network::res12,
                                                          network::Network::res18, network::Network::res34),
                                          testing::Values(network::Head::quadratic, network::Head::linear),
                                          testing::Values(int64_t{1}, int64_t{3})),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(Unet, EngineProperty,
                         testing::Combine(testing::ValuesIn(single_engines()),
                                          testing::Values(network::Network::unet),
                                          testing::Values(network::Head::squared_residual,
                                                          network::Head::inner_product,
                                                          network::Head::predicted_noise),
                                          testing::Values(int64_t{1}, int64_t{3})),
                         name_of_case);

}  // namespace
}  // namespace mdsm::test

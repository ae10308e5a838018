// --optimizer muon: every engine against the plain iteration in float64.
#include <gtest/gtest.h>

#include "engine/registry/registry.h"
#include "engine/support.h"

namespace mdsm::test {
namespace {

using engine::EngineKind;

class Muon : public testing::TestWithParam<std::tuple<EngineKind, network::Network>> {
 protected:
  static network::Spec spec() {
    const network::Network network = std::get<1>(GetParam());
    return small_spec(
        network,
        network == network::Network::unet ? network::Head::squared_residual : network::Head::quadratic, 3, 8);
  }

  std::vector<float> state(engine::StateVector which) const {
    std::vector<float> values(parameters_.values().size());
    engine_->read(which, values);
    return values;
  }

  network::Parameters parameters_ = lively_parameters(spec(), 5);
  std::unique_ptr<engine::TrainableEnergy> engine_ =
      engine::make_engine({std::get<0>(GetParam())}, parameters_);
};

// In float64, the plain iteration: x <- a x + b (x xᵀ) x + c (x xᵀ)² x.
Vector orthogonalised(Vector x, size_t rows) {
  const size_t columns = x.size() / rows;
  const double size = norm(x);
  for (double& value : x) value /= size;
  const auto times = [&](const Vector& a, const Vector& b) {  // (rows x rows) (rows x columns)
    Vector c(x.size());
    for (size_t i = 0; i < rows; ++i)
      for (size_t k = 0; k < rows; ++k)
        for (size_t j = 0; j < columns; ++j) c[i * columns + j] += a[i * rows + k] * b[k * columns + j];
    return c;
  };
  for (int round = 0; round < engine::kNewtonSchulzRounds; ++round) {
    Vector gram(rows * rows);
    for (size_t i = 0; i < rows; ++i)
      for (size_t k = 0; k < rows; ++k)
        for (size_t j = 0; j < columns; ++j) gram[i * rows + k] += x[i * columns + j] * x[k * columns + j];
    const Vector cubed = times(gram, x), fifth = times(gram, cubed);
    for (size_t i = 0; i < x.size(); ++i)
      x[i] = engine::kNewtonSchulz[0] * x[i] + engine::kNewtonSchulz[1] * cubed[i] +
             engine::kNewtonSchulz[2] * fifth[i];
  }
  return x;
}

TEST_P(Muon, MovesConvolutionsByOrthogonalMatricesAndTheRestByAdam) {
  const size_t count = parameters_.values().size();
  engine::OptimiserStep step{1, 0.01, 0.9, 0.95, 1e-8, 0.5, 0.9, engine::Optimiser::muon};
  const std::vector<float> before = state(engine::StateVector::weights);
  std::vector<float> g(count);
  RandomStream(5, Purpose::check).fill_normal(g);
  engine_->write(engine::StateVector::gradient, g);
  engine_->optimiser_step(step);
  const std::vector<float> after = state(engine::StateVector::weights),
                           m = state(engine::StateVector::adam_m), ema = state(engine::StateVector::ema);
  int matrices = 0;
  for (const network::ParameterInfo& info : parameters_.layout()) {
    const auto at = static_cast<size_t>(info.offset), size = static_cast<size_t>(info.count);
    Vector expected(size), moved(size);
    for (size_t i = 0; i < size; ++i) moved[i] = static_cast<double>(after[at + i]) - before[at + i];
    if (engine::is_muon_matrix(info)) {
      ++matrices;
      const auto rows = static_cast<size_t>(info.shape[0]);
      for (size_t i = 0; i < size; ++i)
        expected[i] = g[at + i];  // any multiple of it has the same directions
      expected = orthogonalised(expected, rows);
      for (double& value : expected)
        value *= -step.lr * engine::muon_scale(info.shape[0], info.count / info.shape[0]);
    } else {
      for (size_t i = 0; i < size; ++i) expected[i] = g[at + i] > 0 ? -step.lr : step.lr;
    }
    EXPECT_LT(relative_error(moved, expected), 1e-3) << info.name;
    for (size_t i = 0; i < size; ++i) {
      EXPECT_NEAR(m[at + i], 0.1 * 0.5 * g[at + i], 1e-6);
      EXPECT_NEAR(ema[at + i], 0.9 * before[at + i] + 0.1 * after[at + i], 1e-5);
    }
  }
  EXPECT_GT(matrices, 3);
}

TEST_P(Muon, FollowsTheMomentum) {
  const size_t count = parameters_.values().size();
  engine::OptimiserStep step{.lr = 0.01, .beta1 = 0.8, .optimiser = engine::Optimiser::muon};
  std::vector<float> g(count), before;
  Vector m(count);
  for (step.step = 1; step.step <= 2; ++step.step) {
    RandomStream(static_cast<uint64_t>(step.step), Purpose::check).fill_normal(g);
    for (size_t i = 0; i < count; ++i) m[i] = 0.8 * m[i] + 0.2 * g[i];
    before = state(engine::StateVector::weights);
    engine_->write(engine::StateVector::gradient, g);
    engine_->optimiser_step(step);
  }
  const std::vector<float> after = state(engine::StateVector::weights);
  for (const network::ParameterInfo& info : parameters_.layout()) {
    if (!engine::is_muon_matrix(info)) continue;
    const auto at = static_cast<size_t>(info.offset), size = static_cast<size_t>(info.count);
    Vector ahead(size), moved(size);
    for (size_t i = 0; i < size; ++i) {
      ahead[i] = 0.8 * m[at + i] + 0.2 * g[at + i];
      moved[i] = static_cast<double>(before[at + i]) - after[at + i];
    }
    Vector expected = orthogonalised(ahead, static_cast<size_t>(info.shape[0]));
    for (double& value : expected)
      value *= step.lr * engine::muon_scale(info.shape[0], info.count / info.shape[0]);
    EXPECT_LT(relative_error(moved, expected), 1e-3) << info.name;
  }
}

// A matrix of zeros has no directions: nothing moves, nothing becomes NaN.
TEST_P(Muon, LeavesWeightsWithoutAGradientAlone) {
  engine_->zero_gradient();
  engine_->optimiser_step({.optimiser = engine::Optimiser::muon});
  const auto start = std::as_const(parameters_).values();
  EXPECT_EQ(state(engine::StateVector::weights), std::vector<float>(start.begin(), start.end()));
}

// Without a gradient nothing else moves them.
TEST_P(Muon, AndAdamTakeWeightDecayFromWeightsButNotFromBiases) {
  const auto start = std::as_const(parameters_).values();
  double left = 1;
  for (const engine::Optimiser optimiser : {engine::Optimiser::muon, engine::Optimiser::adam}) {
    engine_->zero_gradient();
    engine_->optimiser_step({.lr = 0.01, .optimiser = optimiser, .weight_decay = 3});
    left *= 0.97;
    const std::vector<float> after = state(engine::StateVector::weights);
    for (const network::ParameterInfo& info : parameters_.layout())
      for (size_t i = info.offset; i < info.offset + info.count; ++i)
        EXPECT_NEAR(after[i], (info.name.ends_with(".bias") ? 1 : left) * start[i], 1e-6) << info.name;
  }
}

INSTANTIATE_TEST_SUITE_P(Engines, Muon,
                         testing::Combine(testing::ValuesIn(engine::available_engines()),
                                          testing::Values(network::Network::res6, network::Network::unet)),
                         [](const auto& made) {
                           return fmt::format("{}_{}", to_string(std::get<0>(made.param)),
                                              to_string(std::get<1>(made.param)));
                         });

}  // namespace
}  // namespace mdsm::test

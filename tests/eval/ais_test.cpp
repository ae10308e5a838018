// Annealed importance sampling, forwards and backwards, against normalisers written down.
#include "eval/ais.h"

#include <gtest/gtest.h>

#include "engine/registry/registry.h"
#include "eval/betas.h"
#include "eval/known_z.h"
#include "eval/log_z.h"
#include "small_network.h"
#include "temporary_folder.h"

namespace mdsm::test {
namespace {

struct Both {
  eval::LogZ forward, reverse;
  double acceptance = 0;
};

std::vector<double> learnt_steps(eval::Bridge& bridge, const std::vector<double>& betas,
                                 const eval::AisOptions& options, Tensor samples) {
  const auto pilots = seeds_from(5000, static_cast<size_t>(samples.shape().n));
  const auto learnt = [&](eval::AisBatch batch) {
    return eval::learnt_steps(eval::pilot_steps(bridge, betas, options, std::move(batch)), betas.size() - 1);
  };
  auto eps = learnt(eval::forward_batch(bridge, pilots));
  const auto other = learnt(eval::reverse_batch(std::move(samples), pilots));
  for (size_t k = 0; k < eps.size(); ++k) eps[k] = std::min(eps[k], other[k]);
  return eps;
}

// Reverse chains start from exact samples of the energy.
template <class Known>
Both both_sides(Known& engine, const eval::GaussianReference& reference, int64_t distributions, size_t chains,
                int64_t leapfrogs) {
  eval::Bridge bridge(engine, reference);
  const auto betas = eval::exponential_betas(distributions, 1e-3);
  const eval::AisOptions options{.leapfrog = leapfrogs, .eps = 0.1, .target = 0.7};
  const auto total = static_cast<int64_t>(betas.size()) - 1;
  const auto eps = learnt_steps(bridge, betas, options, engine.exact_samples(seeds_from(6000, 2)));
  eval::AisBatch forward = eval::forward_batch(bridge, seeds_from(0, chains));
  const auto seeds = seeds_from(1000, chains);
  eval::AisBatch reverse = eval::reverse_batch(engine.exact_samples(seeds), seeds);
  eval::anneal(bridge, betas, eps, options, forward, {});
  eval::anneal(bridge, betas, eps, options, reverse, {});
  double accepted = 0;
  for (const auto* batch : {&forward, &reverse})
    for (const int64_t count : batch->accepted) accepted += static_cast<double>(count);
  return {eval::estimate_log_z(forward.log_weight, eval::Direction::forward),
          eval::estimate_log_z(reverse.log_weight, eval::Direction::reverse),
          accepted / static_cast<double>(2 * chains * static_cast<size_t>(total))};
}

// The truth lies between the means (up to their noise), and both are within the share given.
void expect_bracket(const Both& both, double truth, double share) {
  const eval::LogZ &low = both.forward, &high = both.reverse;
  EXPECT_LE(low.bound, truth + 2 * low.bound_error);
  EXPECT_GE(high.bound, truth - 2 * high.bound_error);
  EXPECT_LT(low.bound, high.bound);
  for (const eval::LogZ* z : {&low, &high}) {
    EXPECT_NEAR(z->bound, truth, share * std::abs(truth));
    EXPECT_NEAR(z->estimate, truth, share * std::abs(truth));
  }
  EXPECT_GE(low.estimate, low.bound);
  EXPECT_LE(high.estimate, high.bound);
  EXPECT_GT(both.acceptance, 0.5);
  EXPECT_LT(both.acceptance, 0.95);
  fmt::print(
      "truth {:.3f}, forward {:.3f} +- {:.3f} (estimate {:.3f}, ESS {:.1f}), reverse {:.3f} +- {:.3f} "
      "(estimate {:.3f}, ESS {:.1f}), acceptance {:.2f}\n",
      truth, low.bound, low.bound_error, low.estimate, low.ess, high.bound, high.bound_error, high.estimate,
      high.ess, both.acceptance);
}

TEST(Ais, BracketsAGaussianIn64Dimensions) {
  OffsetGaussian engine(1, 8, 0.5, 0.1, 7);
  const Both both = both_sides(engine, reference_at(engine.image_shape(), 0.5, 0.35), 2000, 32, 10);
  expect_bracket(both, engine.log_z(), 0.01);
  // So close that the estimates give the number itself.
  EXPECT_NEAR(both.forward.estimate, engine.log_z(), 5 * both.forward.estimate_error + 1e-3);
  EXPECT_NEAR(both.reverse.estimate, engine.log_z(), 5 * both.reverse.estimate_error + 1e-3);
}

TEST(Ais, BracketsAGaussianIn3072Dimensions) {
  OffsetGaussian engine(3, 32, 0.5, 0.1, 7);
  const Both both = both_sides(engine, reference_at(engine.image_shape(), 0.5, 0.35), 2000, 4, 6);
  expect_bracket(both, engine.log_z(), 0.01);
}

// Modes 1 apart that are 0.1 wide: a chain cannot cross, the path has to bring it to either.
TEST(Ais, BracketsAMixture) {
  MixtureEnergy engine(1, 0.7, 0.1);
  const double truth = kPixels / 2.0 * std::log(2 * std::numbers::pi * 0.01);
  expect_bracket(both_sides(engine, reference_at(engine.image_shape(), 0, 0.3), 2000, 32, 10), truth, 0.01);
}

TEST(Ais, TheGapClosesWithMoreDistributions) {
  OffsetGaussian engine(1, 8, 0.5, 0.1, 7);
  double before = INFINITY;
  for (const int64_t k : {20, 80, 320}) {
    const Both both = both_sides(engine, reference_at(engine.image_shape(), 0.5, 0.35), k, 16, 4);
    const double gap = both.reverse.bound - both.forward.bound;
    EXPECT_GT(gap, 0);
    EXPECT_LT(gap, before / 2) << k;
    before = gap;
  }
}

// Forward chains end as samples of the energy, reverse ones as samples of the reference.
TEST(Ais, ChainsTravelFromOneEndToTheOther) {
  OffsetGaussian engine(1, 8, 0.5, 0.1, 7);
  eval::Bridge bridge(engine, reference_at(engine.image_shape(), 0.5, 0.35));
  const auto betas = eval::exponential_betas(100, 1e-3);
  const std::vector<double> eps(100, 0.06);
  const auto seeds = seeds_from(0, 200);
  for (const eval::Direction direction : {eval::Direction::forward, eval::Direction::reverse}) {
    const bool forward = direction == eval::Direction::forward;
    eval::AisBatch batch = forward ? eval::forward_batch(bridge, seeds)
                                   : eval::reverse_batch(engine.exact_samples(seeds), seeds);
    std::vector<int64_t> order;
    eval::anneal(bridge, betas, eps, {.leapfrog = 5}, batch,
                 [&](const eval::AisBatch&, const eval::AisStep& step) {
                   order.push_back(step.distribution);
                   EXPECT_EQ(step.beta, betas[static_cast<size_t>(step.distribution)]);
                   return true;
                 });
    ASSERT_EQ(order.size(), 100u);
    EXPECT_EQ(order.front(), forward ? 1 : 100);
    EXPECT_EQ(order.back(), forward ? 100 : 1);
    double squares = 0;  // of the narrowest pixel about its mean
    for (int64_t i = 0; i < 200; ++i) {
      const double mean = forward ? 0.5 + 0.2 * std::sin(63.0) : 0.5;
      squares += std::pow(batch.x.view().image(i)[63] - mean, 2) / 200;
    }
    EXPECT_NEAR(std::sqrt(squares), forward ? 0.1 : 0.35, forward ? 0.02 : 0.06);
  }
}

// The model's bowl is inside the energy that the bridge is given, and counts once.
TEST(Ais, AModelsBowlIsCountedOnce) {
  network::Spec spec = small_spec();
  spec.bowl = 0.5;
  const auto engine =
      engine::make_engine({}, network::Parameters(spec));  // all weights 0: the network is flat
  eval::Bridge bridge(*engine, reference_at(engine->image_shape(), 0.5, 0.35));
  Tensor x(engine->images(2), 0.25f), grad_x(x.shape());
  std::vector<float> energy(2), alone(2);
  bridge.set_beta(1);
  bridge.energy_and_gradient(x, energy, grad_x);
  bridge.energy(x, alone);
  const double expected = 0.5 * kPixels * 0.0625 / (2 * 0.01);
  for (const float value : {energy[0], energy[1], alone[0], alone[1]}) EXPECT_NEAR(value, expected, 1e-4);
  for (const float value : grad_x.values()) EXPECT_NEAR(value, 0.5 * 0.25 / 0.01, 1e-4);
}

// One distribution is plain importance sampling: log w = -(E - E_ref) at the start.
TEST(Ais, OneDistributionIsImportanceSampling) {
  OffsetGaussian engine(1, 8, 0.5, 0.1, 7);
  eval::Bridge bridge(engine, reference_at(engine.image_shape(), 0.5, 0.35));
  eval::AisBatch batch = eval::forward_batch(bridge, seeds_from(0, 5));
  Tensor start(batch.x.shape());
  std::ranges::copy(batch.x.values(), start.data());
  const std::vector<double> eps{0.1};
  eval::anneal(bridge, eval::linear_betas(1), eps, {.leapfrog = 2}, batch, {});
  for (int64_t i = 0; i < 5; ++i) {
    const auto x = start.view().image(i);
    EXPECT_NEAR(batch.log_weight[static_cast<size_t>(i)],
                bridge.reference().energy(x) - engine.energy_of(x.data(), nullptr), 1e-3);
    EXPECT_NEAR(batch.start_energy[static_cast<size_t>(i)], engine.energy_of(x.data(), nullptr), 1e-3);
  }
}

// Stopped and gone on with from what a checkpoint keeps, a chain ends where it would have ended.
TEST(Ais, GoesOnBitForBit) {
  OffsetGaussian engine(1, 8, 0.5, 0.1, 7);
  eval::Bridge bridge(engine, reference_at(engine.image_shape(), 0.5, 0.35));
  const auto betas = eval::exponential_betas(60, 1e-3);
  const std::vector<double> eps(60, 0.08);
  const eval::AisOptions options{.leapfrog = 3};
  for (const eval::Direction direction : {eval::Direction::forward, eval::Direction::reverse}) {
    const auto start = [&] {
      const auto seeds = seeds_from(7, 6);
      return direction == eval::Direction::forward ? eval::forward_batch(bridge, seeds)
                                                   : eval::reverse_batch(engine.exact_samples(seeds), seeds);
    };
    eval::AisBatch whole = start(), parts = start();
    eval::anneal(bridge, betas, eps, options, whole, {});
    eval::anneal(bridge, betas, eps, options, parts,
                 [](const eval::AisBatch& b, const eval::AisStep&) { return b.done < 23; });
    EXPECT_EQ(parts.done, 23);
    eval::anneal(bridge, betas, eps, options, parts, {});
    EXPECT_EQ(parts.done, 60);
    EXPECT_EQ(whole.log_weight, parts.log_weight);
    EXPECT_EQ(whole.accepted, parts.accepted);
    EXPECT_EQ(whole.start_energy, parts.start_energy);
    EXPECT_TRUE(std::ranges::equal(whole.x.values(), parts.x.values()));
  }
}

}  // namespace
}  // namespace mdsm::test

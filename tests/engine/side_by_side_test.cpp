// Different engines may run side by side, and an engine may be made in one thread and used in another: the
// bits are those of one after the other.
#include <gtest/gtest.h>

#include <thread>

#include "core/threads.h"
#include "engine/registry/registry.h"
#include "engine/support.h"

namespace mdsm::test {
namespace {

constexpr int64_t kImages = 4;

// exact: oneDNN's convolutions, which are the ones with a stream and working memory.
class SideBySide : public testing::TestWithParam<bool> {
 protected:
  ~SideBySide() override { set_thread_count(0); }

  std::unique_ptr<engine::TrainableEnergy> make(uint64_t seed) const {
    return engine::make_engine({.exact = GetParam()}, lively_parameters(spec_, seed));
  }

  // Everything an engine computes, after a few training steps.
  std::vector<float> work(engine::TrainableEnergy& engine, uint64_t seed) const {
    const Batch batch(spec_, kImages, seed);
    std::vector<float> energy(kImages), residual(kImages);
    Tensor grad_x(batch.x.shape());
    for (int64_t step = 1; step <= 2; ++step) {
      engine.zero_gradient();
      engine.objective_gradient(batch.x, batch.noisy, batch.weight, residual, energy);
      engine.energy_gradient(batch.x, batch.weight, energy);
      engine.optimiser_step({.step = step});
      engine.energy_and_gradient(batch.noisy, energy, grad_x);
    }
    std::vector<float> all(static_cast<size_t>(network::parameter_count(spec_)));
    engine.read(engine::StateVector::weights, all);
    all.insert(all.end(), energy.begin(), energy.end());
    all.insert(all.end(), residual.begin(), residual.end());
    all.insert(all.end(), grad_x.values().begin(), grad_x.values().end());
    return all;
  }

  network::Spec spec_ = small_spec(network::Network::res6, network::Head::quadratic, 3, 8);
};

TEST_P(SideBySide, TwoEnginesInTwoThreadsGiveTheSameBits) {
  const std::vector<float> first = work(*make(1), 1), second = work(*make(2), 2);
  for (int trial = 0; trial < 3; ++trial) {
    std::vector<float> a, b;
    std::thread other([&] { b = work(*make(2), 2); });
    a = work(*make(1), 1);
    other.join();
    EXPECT_EQ(a, first);
    EXPECT_EQ(b, second);
  }
}

TEST_P(SideBySide, AnEngineMadeAndUsedHereWorksInAnotherThread) {
  const std::vector<float> expected = work(*make(3), 3);
  std::vector<float> found;
  auto moved = make(3);
  std::thread([&] { found = work(*moved, 3); }).join();
  EXPECT_EQ(found, expected);

  // With plans that this thread has made.
  auto used = make(4);
  auto same = make(4);
  work(*used, 4);
  work(*same, 4);
  const std::vector<float> here = work(*same, 5);
  std::thread([&] { found = work(*used, 5); }).join();
  EXPECT_EQ(found, here);
}

TEST_P(SideBySide, TheNumberOfThreadsHoldsInOtherThreads) {
  for (const int threads : {1, 3}) {
    set_thread_count(threads);
    const std::vector<float> expected = work(*make(5), 5);
    std::vector<float> found;
    std::thread([&] { found = work(*make(5), 5); }).join();
    EXPECT_EQ(found, expected) << threads;
  }
}

INSTANTIATE_TEST_SUITE_P(Native, SideBySide, testing::Bool(),
                         [](const auto& made) { return std::string(made.param ? "exact" : "fast"); });

}  // namespace
}  // namespace mdsm::test

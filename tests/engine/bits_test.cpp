// Everything an engine computes has the same bits with any number of threads and from run to run, and no
// threads work but the program's own.
#include <gtest/gtest.h>

#include <filesystem>
#include <ostream>

#include "core/threads.h"
#include "engine/registry/registry.h"
#include "engine/support.h"

namespace mdsm::test {
namespace {

struct Case {
  std::string name;
  network::Spec spec;
  bool exact;
};

void PrintTo(const Case& one, std::ostream* to) { *to << one.name; }

std::vector<Case> cases() {
  using network::Head, network::Network;
  std::vector<Case> all;
  for (const bool exact : {false, true}) {
    const auto add = [&](const std::string& name, Network network, Head head, int64_t width) {
      network::Spec spec = small_spec(network, head, 3, width);
      spec.size = network == Network::unet ? 16 : 32;  // maps of 4x4 at the end
      all.push_back({name + (exact ? "_exact" : "_fast"), spec, exact});
    };
    add("res6", Network::res6, Head::quadratic, 16);
    add("res12", Network::res12, Head::linear, 8);
    add("res18", Network::res18, Head::quadratic, 8);
    add("unet", Network::unet, Head::squared_residual, 16);
    add("denoiser", Network::unet, Head::denoiser, 12);
  }
  return all;
}

class Bits : public testing::TestWithParam<Case> {
 protected:
  // Tiles for several partial sums of weight gradients, and numbers of images that no number of threads
  // divides.
  static constexpr int64_t kImages = 21;
  ~Bits() override { set_thread_count(0); }

  std::vector<float> work(int threads) const {
    set_thread_count(threads);
    const auto engine = engine::make_engine({.exact = GetParam().exact}, lively_parameters(spec_, 1));
    const Batch batch(spec_, kImages);
    std::vector<float> all, energy(kImages), residual(kImages),
        vector(static_cast<size_t>(network::parameter_count(spec_)));
    Tensor grad_x(batch.x.shape());
    const auto keep = [&](std::span<const float> values) {
      all.insert(all.end(), values.begin(), values.end());
    };
    const auto keep_vector = [&](engine::StateVector which) {
      engine->read(which, vector);
      keep(vector);
    };
    for (int64_t step = 1; step <= 2; ++step) {
      engine->zero_gradient();
      engine->objective_gradient(batch.x, batch.noisy, batch.weight, residual, energy);
      keep(residual);
      keep(energy);
      if (engine->has_energy()) {
        engine->energy_gradient(batch.x, batch.weight, energy);
        keep(energy);
      }
      keep_vector(engine::StateVector::gradient);
      norms_.push_back(engine->gradient_norm());
      engine->optimiser_step({.step = step});
      keep_vector(engine::StateVector::ema);
      engine->energy_and_gradient(batch.noisy, energy, grad_x);
      keep(energy);
      keep(grad_x.values());
    }
    return all;
  }

  network::Spec spec_ = GetParam().spec;
  mutable std::vector<double> norms_;
};

TEST_P(Bits, DoNotDependOnThreads) {
  const std::vector<float> one = work(1);
  const std::vector<double> norms = norms_;
  for (const int threads : {1, 2, 3, 7}) {
    norms_.clear();
    EXPECT_EQ(work(threads), one) << threads << " threads";
    EXPECT_EQ(norms_, norms) << threads << " threads";
  }
}

// oneDNN would have threads of its own, OpenMP's, if it were let.
TEST_P(Bits, TakeNoOtherThreads) {
  const auto tasks = [] {
    const std::filesystem::directory_iterator list("/proc/self/task");
    return std::distance(begin(list), end(list));
  };
  if (!std::filesystem::exists("/proc/self/task")) GTEST_SKIP() << "nothing says how many threads there are";
  set_thread_count(3);
  parallel_for(3, 1, [](int64_t, int64_t) {});
  const auto own = tasks();
  work(3);
  EXPECT_EQ(tasks(), own);
}

INSTANTIATE_TEST_SUITE_P(Native, Bits, testing::ValuesIn(cases()),
                         [](const auto& made) { return made.param.name; });

}  // namespace
}  // namespace mdsm::test

// A training batch that the native engine cuts into pieces gives the sums over its parts.
#include <gtest/gtest.h>

#include "engine/native/native_engine.h"
#include "engine/support.h"

namespace mdsm::test {
namespace {

TEST(TrainingPieces, LargeBatchesAreSumsOfSmallOnes) {
  network::Spec spec;
  spec.network = network::Network::res6;
  spec.width = 32;
  spec.channels = 1;
  spec.size = 32;
  constexpr int64_t kImages = 500, kPart = 100;
  ASSERT_EQ(engine::native_memory(spec, kImages).training, engine::native_memory(spec, kImages / 2).training)
      << "this batch is not cut: the test needs a larger one";
  const network::Parameters parameters = network::Parameters::initialised(spec, 1);
  const Batch batch(spec, kImages);
  const auto gradient_of = [&](int64_t part) {
    const auto engine = engine::make_native_engine(parameters);
    engine->zero_gradient();
    std::vector<float> residual(kImages), energy(kImages);
    for (int64_t first = 0; first < kImages; first += part) {
      const auto at = static_cast<size_t>(first), count = static_cast<size_t>(part);
      engine->objective_gradient(batch.x.view().images(first, part), batch.noisy.view().images(first, part),
                                 std::span(batch.weight).subspan(at, count),
                                 std::span(residual).subspan(at, count),
                                 std::span(energy).subspan(at, count));
    }
    std::vector<float> all(static_cast<size_t>(network::parameter_count(spec)));
    engine->read(engine::StateVector::gradient, all);
    all.insert(all.end(), residual.begin(), residual.end());
    all.insert(all.end(), energy.begin(), energy.end());
    return all;
  };
  const auto whole = gradient_of(kImages), parts = gradient_of(kPart);
  EXPECT_LT(norm_of_difference(whole, parts) / norm(parts), 1e-5);
}

TEST(TrainingPieces, OfBfloat16AreAsManyImagesInHalfTheMemory) {
  network::Spec spec;
  spec.network = network::Network::res6;
  spec.width = 32;
  spec.channels = 1;
  spec.size = 32;
  const auto need = [&](engine::NativeArithmetic how, int64_t n) {
    return static_cast<double>(engine::native_memory(spec, n, how).training);
  };
  for (const int64_t n : {100, 500, 2000}) {
    const double ratio =
        need(engine::NativeArithmetic::bfloat16, n) / need(engine::NativeArithmetic::fast, n);
    EXPECT_GT(ratio, 0.4) << n;
    EXPECT_LT(ratio, 0.6) << n;
  }
}

}  // namespace
}  // namespace mdsm::test

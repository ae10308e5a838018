// What the registry says of engines before one is made, and that a bowl is put around those whose spec has
// one.
#include "engine/registry/registry.h"

#include <gtest/gtest.h>

#include "engine/bowl.h"
#include "engine/support.h"

namespace mdsm::test {
namespace {

using engine::EngineKind;

const network::Spec kSpec = small_spec();

TEST(Registry, MemoryIsKnownOfTheNativeEngineOnly) {
  const auto native = engine::memory_need({}, kSpec, 8);
  ASSERT_TRUE(native);
  const size_t plain = sizeof(float) * static_cast<size_t>(network::parameter_count(kSpec));
  EXPECT_GT(native->weights, plain);
  EXPECT_GT(native->training_weights, 5 * plain);
  EXPECT_GT(native->energy, 0u);
  EXPECT_GT(native->gradient, native->energy);
  EXPECT_GT(native->training, native->gradient);
  EXPECT_GT(engine::memory_need({}, kSpec, 16)->energy, native->energy);
  EXPECT_FALSE(engine::memory_need({.engine = EngineKind::torch}, kSpec, 8));
  EXPECT_FALSE(engine::memory_need({.engine = EngineKind::check}, kSpec, 8));
}

// Transformed weights of large layers are made where few images are worked on, and kept where many are.
TEST(Registry, WeightsOfLargeLayersAreNotKeptForFewImages) {
  network::Spec spec = kSpec;
  spec.network = network::Network::res18;
  spec.width = 128;
  spec.size = 32;
  const size_t plain = sizeof(float) * static_cast<size_t>(network::parameter_count(spec));
  const size_t few = engine::memory_need({}, spec, 16)->weights,
               many = engine::memory_need({}, spec, 64)->weights;
  EXPECT_LT(few, 5 * plain);
  EXPECT_GT(many, few + plain);
}

TEST(Registry, NamesOfEnginesAreThoseOfTheCommandLine) {
  EXPECT_EQ(names_in_order<EngineKind>(), (std::vector<std::string>{"native", "torch", "check"}));
  EXPECT_EQ(from_name<EngineKind>("check", "engine"), EngineKind::check);
}

// What it puts around the others is in bowl_test.cpp.
TEST(WithBowl, LeavesAnEnergyAloneWhoseSpecHasNone) {
  auto flat = engine::make_engine({}, lively_parameters(kSpec, 1));
  const engine::TrainableEnergy* const before = flat.get();
  EXPECT_EQ(engine::with_bowl(std::move(flat)).get(), before);
}

TEST(WithBowl, IsAnotherEnergyWithTheSameNetworkInside) {
  network::Spec spec = kSpec;
  spec.bowl = 0.5;
  const auto flat = engine::make_engine({}, lively_parameters(kSpec, 1));
  const auto bowl = engine::make_engine({}, lively_parameters(spec, 1));
  EXPECT_EQ(bowl->name(), flat->name());
  EXPECT_EQ(bowl->spec(), spec);
  std::vector<float> a(static_cast<size_t>(network::parameter_count(spec))), b(a.size());
  flat->read(engine::StateVector::weights, a);
  bowl->read(engine::StateVector::weights, b);
  EXPECT_EQ(a, b);
  std::vector<float> energy(1), without(1);
  const Tensor ones(spec.input(1), 1.0f);
  flat->energy(ones, without);
  bowl->energy(ones, energy);
  const double expected =
      spec.bowl * static_cast<double>(ones.values().size()) / (2 * spec.sigma0 * spec.sigma0);
  EXPECT_NEAR(energy[0] - without[0], expected, 1e-4 * expected);
}

}  // namespace
}  // namespace mdsm::test

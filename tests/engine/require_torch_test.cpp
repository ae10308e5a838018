// With MDSM_REQUIRE_TORCH set, a run of this program in which LibTorch took no part is a failure: ctest's
// engine_torch must not be green because the module was not found and everything was skipped.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>

#include "engine/registry/registry.h"

namespace mdsm::test {
namespace {

class RequireTorch : public testing::Environment {
 public:
  void TearDown() override {
    if (!std::getenv("MDSM_REQUIRE_TORCH")) return;
    const auto engines = engine::available_engines();
    EXPECT_TRUE(std::ranges::count(engines, engine::EngineKind::torch)) << "libmdsm_torch.so was not found";
    const testing::UnitTest& run = *testing::UnitTest::GetInstance();
    EXPECT_EQ(run.skipped_test_count(), 0) << "tests of LibTorch were skipped";
    // One test is there without the module (NetworkCheckTest); the others are made of the engines that are.
    EXPECT_GT(run.successful_test_count() + run.failed_test_count(), 10);
  }
};

[[maybe_unused]] const auto* const kRequireTorch = testing::AddGlobalTestEnvironment(new RequireTorch);

}  // namespace
}  // namespace mdsm::test

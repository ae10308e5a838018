#include "network/widen.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "engine/support.h"

namespace mdsm::test {
namespace {

network::Spec unet(int64_t width, int64_t blocks) {
  network::Spec spec{.network = network::Network::unet, .width = width, .channels = 3, .size = 8};
  spec.head = network::Head::squared_residual;
  spec.levels = 3;
  spec.blocks = blocks;
  return spec;
}

TEST(Widen, IsTheSameFunction) {
  for (const int64_t blocks : {1, 2})
    for (const int64_t width : {8, 12, 20}) {  // 20: of some channels one more copy than of others
      const auto narrow = network::Parameters::random(unet(8, blocks), 1);
      const auto wide = network::widened(narrow, unet(width, blocks), 2);
      const Reference a(narrow.spec(), narrow.values()), b(wide.spec(), wide.values());
      const Batch batch(narrow.spec(), 2);
      for (int64_t i = 0; i < 2; ++i) {
        const Map x = map_of(batch.noisy, i);
        EXPECT_NEAR(b.energy(x) / a.energy(x), 1, 1e-5);
        EXPECT_LT(relative_error(b.grad_x(x).v, a.grad_x(x).v), 1e-5);
      }
    }
}

TEST(Widen, LearnsSomethingElseForEachCopyOfAChannel) {
  const auto wide = network::widened(network::Parameters::random(unet(8, 1), 1), unet(16, 1), 2);
  const Batch batch(wide.spec(), 1);
  const Reference reference(wide.spec(), wide.values());
  Vector gradient(wide.values().size());
  reference.objective(map_of(batch.x, 0), map_of(batch.noisy, 0), 1, gradient);
  for (const network::ParameterInfo& info : wide.layout()) {
    if (info.shape.size() != 4 || info.shape[0] <= 3) continue;  // not the image's own channels
    const auto half = static_cast<ptrdiff_t>(info.count / 2);
    const auto at = gradient.begin() + info.offset;
    EXPECT_GT(relative_error(Vector(at, at + half), Vector(at + half, at + 2 * half)), 1e-2) << info.name;
  }
}

TEST(Widen, RefusesOtherNetworks) {
  const auto narrow = network::Parameters::random(unet(8, 1), 1);
  EXPECT_THROW(network::widened(narrow, unet(4, 1), 2), Error);
  EXPECT_THROW(network::widened(narrow, unet(16, 2), 2), Error);
}

}  // namespace
}  // namespace mdsm::test

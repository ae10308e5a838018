// Tiles against the whole: the energy and gradient of an image cut up must be those of the image.
#include "engine/tiled_energy.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "engine/native/native_engine.h"
#include "engine/registry/sized_energy.h"
#include "engine/support.h"
#include "network/graph.h"

namespace mdsm::engine {
namespace {

struct Case {
  network::Head head;
  int64_t levels, blocks, height, width, tile_height, tile_width;
};

network::Spec unet(network::Head head, int64_t levels, int64_t blocks, int64_t height, int64_t width) {
  network::Spec spec = test::small_spec(network::Network::unet, head, 2);
  spec.levels = levels;
  spec.blocks = blocks;
  spec.rows = height;
  spec.columns = width;
  return spec;
}

// All weights random, the layers that start at zero too, so that nothing is far from anything.
network::Parameters random_weights(const network::Spec& spec) {
  network::Parameters parameters = test::lively_parameters(spec, 3);
  for (size_t i = 0; i < parameters.layout().size(); ++i)
    if (const network::ParameterInfo& info = parameters.layout()[i]; info.zero)
      RandomStream(5, Purpose::check, i).fill_uniform(parameters.at(info), -0.1f, 0.1f);
  return parameters;
}

// At most, in units of the denoised image.
double worst(double sigma0, const Tensor& a, const Tensor& b) {
  double most = 0;
  for (size_t i = 0; i < a.values().size(); ++i)
    most = std::max(most, std::abs(static_cast<double>(a.values()[i]) - b.values()[i]));
  return most * sigma0 * sigma0;
}

class Tiles : public testing::TestWithParam<Case> {};

TEST_P(Tiles, GiveTheWhole) {
  const Case& c = GetParam();
  const network::Parameters parameters = random_weights(unet(c.head, c.levels, c.blocks, c.height, c.width));
  const network::Spec& spec = parameters.spec();
  const auto whole = make_native_engine(parameters);
  TiledEnergy tiled(make_native_engine(parameters.at_size(c.tile_height, c.tile_width)), spec.input(1), 1);
  const test::Batch batch(spec, 2);
  std::vector<float> wanted(2), found(2), alone(2);
  Tensor grad_x(spec.input(2)), tiled_grad_x(spec.input(2));
  whole->energy_and_gradient(batch.noisy, wanted, grad_x);
  tiled.energy_and_gradient(batch.noisy, found, tiled_grad_x);
  tiled.energy(batch.noisy, alone);
  for (size_t i = 0; i < 2; ++i) {
    EXPECT_NEAR(found[i] / wanted[i], 1, 1e-6);
    EXPECT_NEAR(alone[i] / wanted[i], 1, 1e-6);
  }
  EXPECT_LT(worst(spec.sigma0, tiled_grad_x, grad_x), 1e-5);
}

using network::Head;
INSTANTIATE_TEST_SUITE_P(Sizes, Tiles,
                         testing::Values(Case{Head::squared_residual, 2, 1, 60, 48, 48, 48},
                                         Case{Head::squared_residual, 2, 1, 61, 47, 44, 42},
                                         Case{Head::inner_product, 2, 2, 83, 90, 72, 68},
                                         Case{Head::squared_residual, 3, 1, 140, 101, 100, 96},
                                         Case{Head::inner_product, 3, 1, 101, 155, 100, 92},
                                         Case{Head::squared_residual, 4, 1, 211, 197, 208, 192},
                                         Case{Head::squared_residual, 4, 1, 512, 512, 304, 304},
                                         Case{Head::inner_product, 4, 1, 33, 250, 33, 192}));

TEST(TileSpans, CoverEveryPixelOnce) {
  for (const int64_t size : {1, 39, 40, 41, 57, 100, 101, 400}) {
    int64_t next = 0;
    const auto spans = tile_spans(size, 40, 12, 4);
    for (const TileSpan& span : spans) {
      EXPECT_EQ(span.own, next);
      EXPECT_GT(span.owned, 0);
      EXPECT_EQ(span.start % 4, 0);
      EXPECT_TRUE(span.start == 0 || span.own - span.start >= 12);
      EXPECT_TRUE(&span == &spans.back() || span.start + 40 - span.own - span.owned >= 12);
      next += span.owned;
    }
    EXPECT_EQ(next, size);
  }
}

// A change just outside of the radius changes nothing, one just inside does.
TEST(ReceptiveRadius, IsThatOfTheNetwork) {
  for (const int64_t levels : {1, 2, 3}) {
    const network::Parameters parameters = random_weights(unet(Head::squared_residual, levels, 1, 1, 240));
    const int64_t radius = network::receptive_radius(network::make_graph(parameters.spec()));
    const auto engine = make_native_engine(parameters, NativeArithmetic::exact);
    const test::Batch batch(parameters.spec(), 1);
    Tensor grad_x(parameters.spec().input(1));
    float energy = 0;
    int64_t farthest = 0;
    for (int64_t pixel = 100; pixel < 100 + (1 << levels); ++pixel) {
      engine->set_window({0, pixel, 1, 1});
      engine->energy_and_gradient(batch.x, {&energy, 1}, grad_x);
      for (int64_t x = 0; x < 240; ++x)
        if (grad_x.data()[x] != 0) farthest = std::max(farthest, std::abs(x - pixel));
    }
    EXPECT_EQ(farthest, radius) << levels << " levels";
  }
}

TEST(Windows, OfImageHeadsOnly) {
  const auto paper = make_native_engine(test::lively_parameters(test::small_spec(), 1));
  EXPECT_THROW(paper->set_window({0, 0, 8, 8}), Error);
  const auto engine = make_native_engine(random_weights(unet(Head::squared_residual, 2, 1, 8, 8)));
  EXPECT_THROW(engine->set_window({0, 1, 8, 8}), Error);
  EXPECT_THROW(engine->set_window({0, 0, 0, 8}), Error);
}

TEST(SizedEnergy, TilesAsAsked) {
  const network::Parameters parameters = random_weights(unet(Head::squared_residual, 2, 1, 8, 8));
  const Shape image{1, 2, 61, 70};
  int64_t tiles = 0;
  const auto count = [&](int64_t, int64_t total) { tiles = total; };
  const auto whole = make_sized_energy({}, parameters, {image, 3}, count);
  const auto tiled = make_sized_energy({}, parameters, {image, 3, 59}, count);
  const test::Batch batch(parameters.at_size(61, 70).spec(), 3);
  std::vector<float> a(3), b(3);
  whole->energy(batch.x, a);
  EXPECT_EQ(tiles, 0);
  tiled->energy(batch.x, b);
  EXPECT_EQ(tiles, 3 * 4);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(b[i] / a[i], 1, 1e-6);
  EXPECT_THROW(make_sized_energy({}, parameters, {image, 3, 20}), Error);
  EXPECT_THROW(make_sized_energy({}, test::lively_parameters(test::small_spec(), 1), {image, 3}), Error);
}

}  // namespace
}  // namespace mdsm::engine

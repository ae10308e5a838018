// Overlapping tiles of a network of one size, blended.
#include "engine/blended_energy.h"

#include <gtest/gtest.h>

#include "engine/native/native_engine.h"
#include "engine/support.h"

namespace mdsm::engine {
namespace {

// E = |x - 0.3|² / (2 sigma0²): the gradient of a pixel depends on that pixel alone, so that tiles must give
// the whole.
class PixelEnergy : public EnergyModel {
 public:
  explicit PixelEnergy(int64_t size) : EnergyModel({1, 2, size, size}, 0.5) {}

 private:
  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override {
    for (int64_t i = 0; i < x.shape.n; ++i) {
      double sum = 0;
      for (size_t k = 0; k < x.image(i).size(); ++k) {
        const double away = static_cast<double>(x.image(i)[k]) - 0.3;
        sum += away * away;
        grad_x.image(i)[k] = static_cast<float>(4 * away);
      }
      energy[static_cast<size_t>(i)] = static_cast<float>(2 * sum);
    }
  }
};

TEST(BlendedSpans, CoverEveryPixelOnceAndOverlapByHalf) {
  for (const int64_t size : {9, 16, 17, 24, 31, 100})
    for (const int64_t tile : {8, 16}) {
      std::vector<double> sums(static_cast<size_t>(size));
      int64_t before = 0;
      for (const BlendedSpan& span : blended_spans(size, tile)) {
        ASSERT_EQ(span.weights.size(), static_cast<size_t>(tile));
        EXPECT_LE(span.start - before, tile / 2);
        before = span.start;
        for (int64_t i = 0; i < tile; ++i)
          if (span.start + i >= 0 && span.start + i < size)
            sums[static_cast<size_t>(span.start + i)] +=
                static_cast<double>(span.weights[static_cast<size_t>(i)]);
      }
      for (const double sum : sums) EXPECT_NEAR(sum, 1, 1e-6) << size << " " << tile;
      if (size > tile) {
        EXPECT_EQ(before, size - tile);
      }
    }
}

TEST(BlendedEnergy, OfPixelsIsThatOfTheWhole) {
  const Shape image{1, 2, 21, 34};
  int64_t calls = 0, announced = 0;
  BlendedEnergy blended(std::make_unique<PixelEnergy>(8), image, 5, [&](int64_t done, int64_t total) {
    EXPECT_EQ(done, ++calls);
    announced = total;
  });
  Tensor x(image.with_n(3)), grad_x(x.shape());
  RandomStream(1, Purpose::check, 0).fill_uniform(x.values(), 0.0f, 1.0f);
  std::vector<float> energy(3);
  blended.energy_and_gradient(x, energy, grad_x);
  EXPECT_EQ(calls, announced);
  for (size_t k = 0; k < x.values().size(); ++k)
    ASSERT_NEAR(grad_x.values()[k], 4 * (x.values()[k] - 0.3f), 1e-5);
  for (int64_t i = 0; i < 3; ++i) {
    double whole = 0;
    for (const float value : x.view().image(i))
      whole += 2 * (static_cast<double>(value) - 0.3) * (value - 0.3);
    EXPECT_NEAR(energy[static_cast<size_t>(i)], whole, 0.05 * whole);  // pixels count alike only in the mean
  }
}

TEST(BlendedEnergy, OfOneTileIsTheNetwork) {
  const network::Spec spec = test::small_spec(network::Network::res6, network::Head::quadratic, 1);
  const network::Parameters parameters = test::lively_parameters(spec, 3);
  const auto network = make_native_engine(parameters);
  BlendedEnergy blended(make_native_engine(parameters), spec.input(1), 2);
  const test::Batch batch(spec, 2);
  std::vector<float> wanted(2), found(2);
  Tensor grad_x(spec.input(2)), blended_grad_x(spec.input(2));
  network->energy_and_gradient(batch.noisy, wanted, grad_x);
  blended.energy_and_gradient(batch.noisy, found, blended_grad_x);
  EXPECT_EQ(wanted, found);
  EXPECT_TRUE(std::ranges::equal(grad_x.values(), blended_grad_x.values()));
}

// A smaller image stands in the middle of zeros.
TEST(BlendedEnergy, OfASmallerImagePads) {
  const network::Spec spec = test::small_spec(network::Network::res6, network::Head::quadratic, 1);
  const network::Parameters parameters = test::lively_parameters(spec, 3);
  const Shape whole = spec.input(1), small{1, whole.c, whole.h - 4, whole.w - 2};
  Tensor x(small), padded(whole), grad_x(small), wanted(whole);
  RandomStream(1, Purpose::check, 0).fill_uniform(x.values(), 0.0f, 1.0f);
  std::ranges::fill(padded.values(), 0.0f);
  const auto at = [&](int64_t c, int64_t y, int64_t column) {
    return ((c * whole.h) + y + 2) * whole.w + column + 1;
  };
  for (int64_t c = 0, k = 0; c < small.c; ++c)
    for (int64_t y = 0; y < small.h; ++y)
      for (int64_t column = 0; column < small.w; ++column) padded.data()[at(c, y, column)] = x.data()[k++];
  std::vector<float> energy(1), padded_energy(1);
  make_native_engine(parameters)->energy_and_gradient(padded, padded_energy, wanted);
  BlendedEnergy(make_native_engine(parameters), small, 1).energy_and_gradient(x, energy, grad_x);
  EXPECT_EQ(energy, padded_energy);
  for (int64_t c = 0, k = 0; c < small.c; ++c)
    for (int64_t y = 0; y < small.h; ++y)
      for (int64_t column = 0; column < small.w; ++column)
        ASSERT_EQ(grad_x.data()[k++], wanted.data()[at(c, y, column)]);
}

}  // namespace
}  // namespace mdsm::engine

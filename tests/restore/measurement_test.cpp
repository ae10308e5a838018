#include "restore/measurement.h"

#include <gtest/gtest.h>

#include <cmath>
#include <complex>

#include "core/error.h"
#include "core/random.h"
#include "io/npy.h"
#include "restore/fourier.h"
#include "restore/kernel_file.h"
#include "restore/masks.h"
#include "temporary_folder.h"

namespace mdsm::restore {
namespace {
using namespace test;

Tensor random_images(Shape shape, uint64_t seed) {
  Tensor x(shape);
  RandomStream(seed, Purpose::check).fill_normal(x.values());
  return x;
}

Tensor project(const LinearMeasurement& m, const Tensor& x) {
  Tensor out(x.shape());
  for (int64_t i = 0; i < x.shape().n; ++i)
    m.project(i, x.view().image(i).data(), out.view().image(i).data(), x.shape().with_n(1));
  return out;
}

double dot(const Tensor& a, const Tensor& b) {
  double sum = 0;
  for (size_t i = 0; i < a.values().size(); ++i) sum += static_cast<double>(a.data()[i]) * b.data()[i];
  return sum;
}

void expect_equal(const Tensor& a, const Tensor& b, double tolerance) {
  ASSERT_EQ(a.shape(), b.shape());
  for (size_t i = 0; i < a.values().size(); ++i) ASSERT_NEAR(a.data()[i], b.data()[i], tolerance) << i;
}

// What every measurement owes the sampler.
void expect_projection(const LinearMeasurement& m, Shape shape) {
  const Tensor a = random_images(shape, 1), b = random_images(shape, 2);
  const Tensor pa = project(m, a), pb = project(m, b);
  expect_equal(project(m, pa), pa, 1e-5);     // P P = P
  EXPECT_NEAR(dot(pa, b), dot(a, pb), 1e-3);  // P = Pᵀ
  const Tensor lifted = m.lift(m.measure(a), shape);
  expect_equal(lifted, pa, 1e-4);  // M⁺ M = P
  EXPECT_GT(dot(pa, pa), 0);
}

TEST(Measurement, MasksProject) {
  const std::vector<uint64_t> seeds{1, 2, 3};
  expect_projection(*mask_measurement(random_masks(16, 0.4, seeds)), {3, 3, 16, 16});
  expect_projection(*mask_measurement(box_mask(16, {4, 5, 6, 7})), {2, 1, 16, 16});
}

TEST(Measurement, BlockMeansProject) {
  for (const int64_t factor : {1, 2, 4, 8})
    expect_projection(*block_mean_measurement(factor), {2, 3, 16, 16});
  Tensor x({1, 1, 2, 4});
  for (int i = 0; i < 8; ++i) x.data()[i] = static_cast<float>(i);
  const Tensor y = block_mean_measurement(2)->measure(x);
  EXPECT_EQ(y.shape(), (Shape{1, 1, 1, 2}));
  EXPECT_EQ(y.data()[0], 2.5f);
  EXPECT_EQ(y.data()[1], 4.5f);
  EXPECT_THROW(block_mean_measurement(3)->measure(x), Error);
  EXPECT_THROW(block_mean_measurement(0), Error);
}

TEST(Measurement, BlursProject) {
  expect_projection(*blur_measurement(gaussian_kernel(1.2), 16, 16, 0.1), {2, 3, 16, 16});
  expect_projection(*blur_measurement(box_kernel(3), 24, 24, 0.05), {1, 1, 24, 24});
  expect_projection(*blur_measurement(gaussian_kernel(1), 21, 12, 0.1), {1, 2, 21, 12});
}

TEST(Measurement, BlurIsAConvolution) {
  const Kernel kernel{3, 5, {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 0, 2, 0, 3}};
  const int64_t size = 8;
  const Tensor x = random_images({1, 1, size, size}, 3), y = blur_measurement(kernel, size, size)->measure(x);
  for (int64_t row = 0; row < size; ++row)
    for (int64_t column = 0; column < size; ++column) {
      double sum = 0;
      for (int64_t dy = -1; dy <= 1; ++dy)
        for (int64_t dx = -2; dx <= 2; ++dx)
          sum += kernel.values[static_cast<size_t>((dy + 1) * 5 + dx + 2)] *
                 x.data()[(row - dy + size) % size * size + (column - dx + size) % size];
      EXPECT_NEAR(y.data()[row * size + column], sum, 1e-4);
    }
}

TEST(Measurement, KernelsSumToOneAndBadOnesAreRefused) {
  double sum = 0;
  for (const float v : gaussian_kernel(1.5).values) sum += v;
  EXPECT_NEAR(sum, 1, 1e-5);
  EXPECT_THROW(gaussian_kernel(0), Error);
  EXPECT_THROW(blur_measurement({2, 3, std::vector<float>(6, 1)}, 16, 16), Error);
  EXPECT_THROW(blur_measurement({3, 3, std::vector<float>(9, 0)}, 16, 16), Error);
  EXPECT_THROW(blur_measurement({3, 3, std::vector<float>(8, 1)}, 16, 16), Error);
  EXPECT_THROW(blur_measurement({17, 17, std::vector<float>(289, 1)}, 16, 16), Error);
  EXPECT_THROW(blur_measurement({1, 1, {NAN}}, 16, 16), Error);
}

TEST(Measurement, FourierMatchesTheSumItStandsFor) {
  for (const auto& [height, width] : {std::pair<int64_t, int64_t>{8, 8}, {12, 12}, {5, 5}, {6, 15}}) {
    const Tensor x = random_images({1, 1, height, width}, 4);
    const Fourier fourier(height, width);
    const auto spectrum = fourier.forward(x.data());
    for (const auto& [u, v] : {std::pair<int64_t, int64_t>{0, 0}, {1, 3}, {height - 1, 2}}) {
      std::complex<double> sum = 0;
      for (int64_t row = 0; row < height; ++row)
        for (int64_t column = 0; column < width; ++column) {
          const double turns = static_cast<double>(u * row) / static_cast<double>(height) +
                               static_cast<double>(v * column) / static_cast<double>(width);
          sum += static_cast<double>(x.data()[row * width + column]) * std::polar(1.0, -2 * M_PI * turns);
        }
      EXPECT_NEAR(std::abs(spectrum[static_cast<size_t>(u * width + v)] - sum), 0, 1e-9);
    }
    Tensor back(x.shape());
    fourier.inverse(spectrum, back.data());
    expect_equal(back, x, 1e-6);
  }
}

TEST(Hide, RefusesWhatDoesNotFit) {
  EXPECT_THROW(hide(Tensor({1, 1, 16, 16}), box_mask(8, {0, 0, 1, 1})), Error);
  EXPECT_THROW(hide(Tensor({1, 1, 8, 8}, NAN), box_mask(8, {0, 0, 1, 1})), Error);
}

TEST(KernelText, NamesAndFiles) {
  const TemporaryFolder folder;
  EXPECT_EQ(read_kernel("box:3", "--kernel").values, box_kernel(3).values);
  EXPECT_EQ(read_kernel("gaussian:1.5", "--kernel").values, gaussian_kernel(1.5).values);
  io::write_npy(folder / "k.npy", {1, 3}, std::vector<float>{1, 2, 1});
  EXPECT_EQ(read_kernel((folder / "k.npy").string(), "--kernel").values,
            (std::vector<float>{.25f, .5f, .25f}));
  io::write_npy(folder / "k.npy", {1, 3}, std::vector<float>{1, -2, 1});
  for (const std::string& wrong : {std::string("box:"), std::string("box:2.5"), std::string("gaussian:x"),
                                   std::string("no-such-file.png"), (folder / "k.npy").string()})
    EXPECT_THROW(read_kernel(wrong, "--kernel"), Error) << wrong;
}

}  // namespace
}  // namespace mdsm::restore

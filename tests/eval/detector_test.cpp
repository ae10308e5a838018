// A detector on an energy written down: its false alarms, what it finds, where, and its file.
#include "eval/detector.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "eval/bowl_energy.h"
#include "eval/list_dataset.h"
#include "temporary_folder.h"

namespace mdsm::test {
namespace {

constexpr int64_t kSide = 8;

using Bowl = BowlEnergy;

Tensor noise(int64_t n, double std, uint64_t seed) { return noise_tensor(n, std, seed); }

eval::Detector fitted(double rate = 0.05, const std::string& by = "norms,spectrum,local,detail") {
  Bowl engine;
  eval::DetectorOptions options;
  options.rate = rate;
  options.parts = eval::parse_parts(by);
  options.features.levels = {0.1, 0.5};
  options.mixture.components = 2;
  return eval::Detector::fit(engine, std::make_shared<ListDataset>(noise(1000, 0.2, 1)), options);
}

double share_of_outliers(const eval::Detector& detector, Tensor images) {
  Bowl engine;
  const auto found = detector.score(engine, ListDataset(std::move(images)));
  return static_cast<double>(std::ranges::count_if(found, &eval::ImageScore::outlier)) /
         static_cast<double>(found.size());
}

TEST(Detector, HoldsItsRateAndFindsOtherImages) {
  const eval::Detector detector = fitted();
  EXPECT_EQ(detector.state().fitted, 500);
  const auto n = detector.state().calibration.size();
  EXPECT_EQ(n, 400u);
  // Of the threshold, which so many images set, and of the 3,000 that are counted.
  const double error = std::sqrt(0.05 * 0.95 * (1.0 / 400 + 1.0 / 3000));
  EXPECT_NEAR(share_of_outliers(detector, noise(3000, 0.2, 2)), 0.05, 3 * error);
  EXPECT_GT(share_of_outliers(detector, noise(200, 0.3, 3)), 0.95);
  EXPECT_GT(share_of_outliers(detector, noise(200, 0.1, 4)), 0.95);
}

// Means of 2x2 pixels, made as strong as the good images are: nothing but fine detail is missing.
TEST(Detector, FindsThatDetailIsMissing) {
  const eval::Detector detector = fitted();
  const Tensor sharp = noise(200, 0.4, 6);
  Tensor smooth(sharp.shape());
  for (int64_t i = 0; i < smooth.shape().count(); ++i) {
    const int64_t y = i / kSide % kSide, x = i % kSide, corner = i - y % 2 * kSide - x % 2;
    const float sum = sharp.data()[corner] + sharp.data()[corner + 1] + sharp.data()[corner + kSide] +
                      sharp.data()[corner + kSide + 1];
    smooth.data()[i] = sum / 4;
  }
  Bowl engine;
  const auto detail = [&](Tensor images) {
    double sum = 0;
    for (const eval::ImageScore& one : detector.score(engine, ListDataset(std::move(images))))
      sum += one.parts[static_cast<size_t>(eval::DetectorPart::detail)] / 200;
    return sum;
  };
  EXPECT_LT(std::abs(detail(noise(200, 0.2, 7))), 0.3);
  EXPECT_GT(detail(std::move(smooth)), 2);
}

TEST(Detector, PValuesCountTheCalibration) {
  const eval::Detector detector = fitted();
  const auto& all = detector.state().calibration;
  const double n = static_cast<double>(all.size());
  EXPECT_EQ(detector.p_value(all.front() - 1), 1);
  EXPECT_EQ(detector.p_value(all.back() + 1), 1 / (n + 1));
  EXPECT_EQ(detector.p_value(all[all.size() - 3]), 4 / (n + 1));  // ties count
  EXPECT_GT(detector.p_value(detector.threshold()), 0.05);
  EXPECT_LE(detector.p_value(std::nextafter(static_cast<float>(detector.threshold()), 1e9f)), 0.05);
}

// A spot of 2x2 pixels, too small to change the norm of the image much.
TEST(Detector, HeatIsWhereTheDefectIs) {
  const eval::Detector detector = fitted();
  Tensor images = noise(40, 0.2, 5);
  for (int64_t i = 0; i < 40; ++i)
    for (const int64_t y : {5, 6})
      for (const int64_t x : {1, 2}) images.view().image(i)[static_cast<size_t>(y * kSide + x)] = 1;
  Bowl engine;
  int64_t hits = 0;
  const auto found =
      detector.score(engine, ListDataset(std::move(images)), {}, [&](int64_t, std::span<const float> heat) {
        const auto place = std::ranges::max_element(heat) - heat.begin();
        hits += std::abs(place / kSide - 5) <= 2 && std::abs(place % kSide - 1) <= 2;
      });
  EXPECT_EQ(found.size(), 40u);
  EXPECT_GE(hits, 38);
  EXPECT_GE(std::ranges::count_if(found, &eval::ImageScore::outlier), 38);
}

// One measure alone: its own order, its own threshold, and the file knows.
TEST(Detector, ByOneMeasure) {
  const TemporaryFolder folder;
  const eval::Detector detector = fitted(0.05, "local");
  const auto n = static_cast<double>(detector.state().calibration.size());
  const double error = std::sqrt(0.05 * 0.95 * (1 / n + 1 / 3000.0));
  EXPECT_NEAR(share_of_outliers(detector, noise(3000, 0.2, 2)), 0.05, 3 * error);
  eval::save_detector(folder / "d.safetensors", detector, "{}");
  const eval::LoadedDetector again = eval::load_detector(folder / "d.safetensors");
  Bowl engine;
  const auto local = static_cast<size_t>(eval::DetectorPart::local);
  for (const eval::ImageScore& one : again.detector.score(engine, ListDataset(noise(20, 0.25, 6))))
    EXPECT_NEAR(one.score, std::log1p(std::exp(one.parts[local])), 1e-6);
  EXPECT_ERROR(eval::parse_parts("local,"), "'' does not exist");
  EXPECT_ERROR(eval::parse_parts("heat"), "'heat' does not exist");
}

TEST(Detector, AFileHoldsAllOfIt) {
  const TemporaryFolder folder;
  const eval::Detector detector = fitted();
  eval::save_detector(folder / "d.safetensors", detector, R"({"model": "m"})");
  const eval::LoadedDetector again = eval::load_detector(folder / "d.safetensors");
  EXPECT_EQ(again.more, R"({"model": "m"})");
  EXPECT_EQ(again.detector.threshold(), detector.threshold());
  Bowl engine;
  const ListDataset images(noise(20, 0.25, 6));
  const auto a = detector.score(engine, images), b = again.detector.score(engine, images);
  for (size_t i = 0; i < a.size(); ++i) {
    EXPECT_EQ(a[i].score, b[i].score);
    EXPECT_EQ(a[i].p, b[i].p);
  }
  std::string bytes = read_text(folder / "d.safetensors");
  bytes[bytes.size() - 30] ^= 1;
  put(folder / "spoiled.safetensors", bytes);
  EXPECT_ERROR(eval::load_detector(folder / "spoiled.safetensors"), "checksum");
  put(folder / "cut.safetensors", bytes.substr(0, bytes.size() / 2));
  EXPECT_ERROR(eval::load_detector(folder / "cut.safetensors"), "cut.safetensors");
}

TEST(Detector, RefusesTooFewImagesForItsRate) {
  Bowl engine;
  eval::DetectorOptions options;
  options.features.levels = {0.1};
  options.mixture.components = 1;
  options.rate = 0.01;
  const auto good = [](int64_t n) { return std::make_shared<ListDataset>(noise(n, 0.2, 1)); };
  EXPECT_ERROR(eval::Detector::fit(engine, good(200), options), "80 held-out images cannot show");
  EXPECT_ERROR(eval::Detector::fit(engine, good(60), options), "too few");
  EXPECT_ERROR(eval::Detector::fit(engine, good(60), options),
               "give at least 247 images for a false-alarm rate of 0.01");
  EXPECT_ERROR(eval::Detector::fit(engine, good(246), options),
               "give at least 247 images, or use --rate 0.01");
  EXPECT_EQ(eval::Detector::fit(engine, good(247), options).state().calibration.size(), 99u);
}

}  // namespace
}  // namespace mdsm::test

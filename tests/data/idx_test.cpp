#include <algorithm>
#include <random>
#include <set>

#include "data/make_files.h"
#include "temporary_folder.h"

namespace mdsm::data {
namespace {

TEST(Idx, ReadsImagesAndLabelsOfBothSplits) {
  const TemporaryFolder folder;
  make_idx_folder(folder.path(), 12, 5);
  const auto train = open_dataset(source("mnist:" + folder.path().string()));
  EXPECT_EQ(train->size(), 12);
  EXPECT_EQ(train->image_shape(), (Shape{1, 1, 28, 28}));
  for (int64_t i = 0; i < 12; ++i) {
    expect_made(*train, i, i);
    EXPECT_EQ(train->label(i), digit(i));
  }
  EXPECT_EQ(train->class_names()[7], "7");
  auto options = source(folder.path().string());  // a bare path is recognised
  options.split = Split::test;
  EXPECT_EQ(open_dataset(options)->size(), 5);
  options.limit = 3;
  EXPECT_EQ(open_dataset(options)->size(), 3);
  options.limit = 1000;
  EXPECT_EQ(open_dataset(options)->size(), 5);
}

TEST(Idx, PlainFilesDottedNamesAndFilesWithoutLabels) {
  const TemporaryFolder folder;
  put(folder / "train-images.idx3-ubyte", idx_images(4, 8));
  put(folder / "train-labels.idx1-ubyte", idx_labels(4));
  EXPECT_EQ(open_dataset(source("mnist:" + folder.path().string()))->label(3), digit(3));
  put(folder / "other" / "mine.dat", idx_images(4, 8));  // told by its first bytes
  const auto set = open_dataset(source((folder / "other/mine.dat").string()));
  expect_made(*set, 2, 2);
  EXPECT_EQ(set->label(0), -1);
}

TEST(Idx, TwentyEightPixelsArePaddedToThirtyTwo) {
  const TemporaryFolder folder;
  make_idx_folder(folder.path(), 2, 1);
  auto options = source(folder.path().string());
  options.pad = -1;
  const auto set = open_dataset(options);
  EXPECT_EQ(set->image_shape(), (Shape{1, 1, 32, 32}));
  const auto image = read_all(*set, 1);
  EXPECT_EQ(image[32 + 5], 0.f);
  EXPECT_EQ(image[2 * 32 + 1], 0.f);
  EXPECT_EQ(image[2 * 32 + 2], static_cast<float>(pixel(1, 0, 0, 0)) / 255.f);
  EXPECT_EQ(image[29 * 32 + 29], static_cast<float>(pixel(1, 0, 27, 27)) / 255.f);
  EXPECT_EQ(image[29 * 32 + 30], 0.f);
}

TEST(Idx, BadFilesAreErrors) {
  const TemporaryFolder folder;
  const fs::path file = folder / "train-images-idx3-ubyte";
  const std::string good = idx_images(3, 8);
  const auto read = [&](const std::string& bytes) {
    put(file, bytes);
    return open_dataset(source("mnist:" + folder.path().string()));
  };
  EXPECT_NO_THROW(read(good));
  EXPECT_ERROR(read(""), "ends inside its idx header");
  EXPECT_ERROR(read(good.substr(0, 10)), "ends inside its idx header");
  EXPECT_ERROR(read(good.substr(0, good.size() - 1)), "the header says 3 entries, the file holds 2");
  EXPECT_ERROR(read(good + "x"), "goes on after its 3 entries");
  EXPECT_ERROR(read(idx_labels(3) + std::string(20, 'x')), "magic 00000801");
  EXPECT_ERROR(read(idx_images(0, 8)), "the header says 0 entries");
  std::string huge = good;
  std::fill_n(huge.begin() + 4, 12, '\xff');
  EXPECT_ERROR(read(huge), "4294967295x4294967295");
  EXPECT_ERROR(read(gzip(good).substr(0, 60)), "gzip data ends too early");
  std::string wrong = gzip(good);
  wrong[wrong.size() - 6] ^= 1;  // in the checksum
  EXPECT_ERROR(read(wrong), "damaged gzip data");
  put(folder / "train-labels-idx1-ubyte", idx_labels(2));
  EXPECT_ERROR(read(good), "2 labels for 3 images");
  auto options = source("mnist:" + folder.path().string());
  options.split = Split::test;
  EXPECT_ERROR(open_dataset(options), "no test images");
}

TEST(Idx, DamageNeverCrashes) {
  const TemporaryFolder folder;
  const std::string good = gzip(idx_images(20, 8));
  std::mt19937 random(1);
  for (int i = 0; i < 300; ++i) {
    std::string bytes = good;
    bytes[random() % bytes.size()] = static_cast<char>(random());
    put(folder / "train-images-idx3-ubyte.gz", bytes);
    try {
      open_dataset(source("mnist:" + folder.path().string()));
    } catch (const Error&) {
    }
  }
}

TEST(Idx, FashionMnistOfDebian) {
  if (!fs::exists("/usr/share/datasets/fashion-mnist"))
    GTEST_SKIP() << "Debian's package dataset-fashion-mnist is not installed";
  auto options = source("fashion-mnist:/usr/share/datasets/fashion-mnist");
  options.split = Split::test;
  options.pad = -1;
  const auto set = open_dataset(options);
  EXPECT_EQ(set->size(), 10000);
  EXPECT_EQ(set->image_shape(), (Shape{1, 1, 32, 32}));
  std::vector<int> counts(10);
  for (int64_t i = 0; i < set->size(); ++i) ++counts[static_cast<size_t>(set->label(i))];
  EXPECT_EQ(counts, std::vector<int>(10, 1000));
  EXPECT_EQ(set->class_names()[static_cast<size_t>(set->label(0))], "ankle boot");
}

TEST(StackedMnist, ThreeDigitsFromTheSeed) {
  const TemporaryFolder folder;
  make_idx_folder(folder.path(), 30, 5);
  auto options = source("stacked-mnist:" + folder.path().string());
  options.seed = 3;
  const auto a = open_dataset(options), b = open_dataset(options);
  EXPECT_EQ(a->size(), 30);
  EXPECT_EQ(a->image_shape(), (Shape{1, 3, 28, 28}));
  const auto digits = open_dataset(source(folder.path().string()));
  std::set<int> labels;
  for (int64_t i = 0; i < 30; ++i) {
    const auto image = read_all(*a, i);
    EXPECT_EQ(image, read_all(*b, i));
    labels.insert(a->label(i));
    int label = a->label(i);
    for (int c = 2; c >= 0; --c, label /= 10) {  // every channel is one of the digits of that label
      const std::vector<float> plane(image.begin() + c * 784, image.begin() + (c + 1) * 784);
      bool found = false;
      for (int64_t k = 0; k < 30; ++k)
        found |= digits->label(k) == label % 10 && read_all(*digits, k) == plane;
      EXPECT_TRUE(found) << "image " << i << " channel " << c;
    }
  }
  EXPECT_GT(labels.size(), 20u);
  options.limit = 4;  // a shorter set starts alike
  const auto c = open_dataset(options);
  EXPECT_EQ(c->size(), 4);
  EXPECT_EQ(read_all(*c, 3), read_all(*a, 3));
  options.seed = 4;
  EXPECT_NE(read_all(*open_dataset(options), 3), read_all(*a, 3));
}

}  // namespace
}  // namespace mdsm::data

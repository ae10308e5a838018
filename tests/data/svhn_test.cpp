#include <random>

#include "data/make_files.h"
#include "temporary_folder.h"

namespace mdsm::data {
namespace {

TEST(Svhn, ReadsColumnMajorImagesAndTenAsZero) {
  const TemporaryFolder folder;
  make_svhn_mat(folder / "train_32x32.mat", 12);
  make_svhn_mat(folder / "test_32x32.mat", 3, false);
  auto options = source("svhn:" + folder.path().string());
  const auto train = open_dataset(options);
  ASSERT_EQ(train->size(), 12);
  EXPECT_EQ(train->image_shape(), (Shape{1, 3, 32, 32}));
  for (int64_t i = 0; i < 12; ++i) {
    expect_made(*train, i, i);
    EXPECT_EQ(train->label(i), digit(i));
  }
  options.source = folder.path().string();
  options.split = Split::test;
  const auto test = open_dataset(options);
  EXPECT_EQ(test->size(), 3);
  expect_made(*test, 2, 2);
  options = source((folder / "train_32x32.mat").string());
  options.limit = 5;
  const auto some = open_dataset(options);
  EXPECT_EQ(some->size(), 5);
  expect_made(*some, 4, 4);
  EXPECT_EQ(some->label(4), digit(4));
}

TEST(Svhn, BadFilesAreErrors) {
  const TemporaryFolder folder;
  const fs::path file = folder / "test_32x32.mat";
  put(file, "not MATLAB");
  EXPECT_ERROR(open_dataset(source(file.string())), "not a MATLAB 5 file");
  make_svhn_mat(file, 4, true, 3);
  EXPECT_ERROR(open_dataset(source(file.string())), "one label for each of the 4 images");
  EXPECT_ERROR(open_dataset(source("svhn:" + folder.path().string())), "has no train_32x32.mat");
  make_svhn_mat(file, 4);
  const std::string text = read_text(file);
  put(file, text.substr(0, 128));
  EXPECT_ERROR(open_dataset(source(file.string())), "has no variable X");
}

TEST(Svhn, TruncatedAndDamagedFiles) {
  const TemporaryFolder folder;
  for (const bool compressed : {true, false}) {
    make_svhn_mat(folder / "good.mat", 3, compressed);
    const std::string good = read_text(folder / "good.mat");
    const fs::path file = folder / "x.mat";
    for (size_t length = 0; length < good.size(); length += 1 + good.size() / 80) {
      put(file, good.substr(0, length));
      EXPECT_THROW(open_dataset(source(file.string())), Error) << length;
    }
    std::mt19937 random(1);
    for (int i = 0; i < 300; ++i) {
      std::string bytes = good;
      const size_t range = i % 2 ? bytes.size() : std::min<size_t>(bytes.size(), 260);
      bytes[random() % range] = static_cast<char>(random());
      put(file, bytes);
      try {
        const auto set = open_dataset(source(file.string()));
        // The header's text, names and plain data carry no checksum; compressed data do.
        if (compressed) expect_made(*set, 2, 2);
      } catch (const Error&) {
      }
    }
  }
}

}  // namespace
}  // namespace mdsm::data

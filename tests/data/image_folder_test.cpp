#include <cstdio>
//
#include <jpeglib.h>

#include "data/make_files.h"
#include "image/image.h"
#include "temporary_folder.h"

namespace mdsm::data {
namespace {

image::Image made(int64_t i, int64_t width, int64_t height, int64_t channels) {
  image::Image image = image::make_image(width, height, channels);
  for (int64_t y = 0; y < height; ++y)
    for (int64_t x = 0; x < width; ++x)
      for (int64_t c = 0; c < channels; ++c) image.row(y)[x * channels + c] = pixel(i, c, y, x);
  return image;
}

void add(const fs::path& path, int64_t i, int64_t width = 8, int64_t height = 8, int64_t channels = 3) {
  fs::create_directories(path.parent_path());
  image::write_png(path, made(i, width, height, channels));
}

void add_jpeg(const fs::path& path, unsigned size, uint8_t value) {
  FILE* file = std::fopen(path.c_str(), "wb");
  jpeg_compress_struct encoder{};
  jpeg_error_mgr errors{};
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  jpeg_stdio_dest(&encoder, file);
  encoder.image_width = encoder.image_height = size;
  encoder.input_components = 3;
  encoder.in_color_space = JCS_RGB;
  jpeg_set_defaults(&encoder);
  jpeg_start_compress(&encoder, TRUE);
  std::vector<uint8_t> row(size * 3, value);
  for (unsigned y = 0; y < size; ++y) {
    JSAMPROW pointer = row.data();
    jpeg_write_scanlines(&encoder, &pointer, 1);
  }
  jpeg_finish_compress(&encoder);
  jpeg_destroy_compress(&encoder);
  std::fclose(file);
}

TEST(ImageFolder, FlatFolderInTheOrderOfNames) {
  const TemporaryFolder folder;
  add(folder / "b.png", 2);
  add(folder / "a.PNG", 1);
  add(folder / "sub/deep/c.png", 3);
  add(folder / ".hidden.png", 9);
  put(folder / "notes.txt", "not an image");
  const auto set = open_dataset(source(folder.path().string()));
  ASSERT_EQ(set->size(), 3);
  for (int64_t i = 0; i < 3; ++i) expect_made(*set, i, i + 1);
  EXPECT_EQ(set->label(0), -1);
  EXPECT_TRUE(set->class_names().empty());
}

TEST(ImageFolder, ClassFoldersAndSplits) {
  const TemporaryFolder folder;
  add(folder / "train/dog/1.png", 3);
  add(folder / "train/cat/1.png", 1);
  add(folder / "train/cat/2.png", 2);
  add(folder / "train/cat-fish/x/1.png", 4);  // by folders, not by text: '-' would sort before '/'
  add(folder / "test/dog/1.png", 7);
  auto options = source(folder.path().string());
  const auto train = open_dataset(options);
  ASSERT_EQ(train->size(), 4);
  EXPECT_EQ(train->class_names(), (std::vector<std::string>{"cat", "cat-fish", "dog"}));
  const int64_t order[] = {1, 2, 4, 3};
  const int labels[] = {0, 0, 1, 2};
  for (int64_t i = 0; i < 4; ++i) {
    expect_made(*train, i, order[i]);
    EXPECT_EQ(train->label(i), labels[i]);
  }
  options.limit = 2;
  EXPECT_EQ(open_dataset(options)->size(), 2);
  options.split = Split::test;
  expect_made(*open_dataset(options), 0, 7);
  fs::remove_all(folder / "test");
  EXPECT_ERROR(open_dataset(options), "has no sub-folder test");
  options.source = (folder / "train").string();  // one part for both
  EXPECT_EQ(open_dataset(options)->size(), 2);
}

TEST(ImageFolder, JpegPngAndOneSingleFile) {
  const TemporaryFolder folder;
  add_jpeg(folder / "a.jpeg", 8, 200);
  add(folder / "b.png", 2);
  const auto set = open_dataset(source(folder.path().string()));
  ASSERT_EQ(set->size(), 2);
  for (const float value : read_all(*set, 0)) EXPECT_NEAR(value, 200 / 255.f, 0.01);
  const auto one = open_dataset(source((folder / "b.png").string()));
  EXPECT_EQ(one->size(), 1);
  expect_made(*one, 0, 2);
}

TEST(ImageFolder, UnequalImagesNeedFitting) {
  const TemporaryFolder folder;
  add(folder / "a.png", 1, 10, 12);
  add(folder / "b.png", 2, 10, 10);
  auto options = source(folder.path().string());
  EXPECT_ERROR(open_dataset(options), "--crop or --resize");
  EXPECT_ERROR(open_dataset(options), "10x10 pixels where");
  options.crop = 8;
  const auto set = open_dataset(options);
  EXPECT_EQ(set->image_shape(), (Shape{1, 3, 8, 8}));
  EXPECT_EQ(read_all(*set, 0)[0], static_cast<float>(pixel(1, 0, 2, 1)) / 255.f);
  add(folder / "c.png", 3, 10, 10, 1);
  EXPECT_ERROR(open_dataset(options), "--colour");
  options.colour = Colour::rgb;
  EXPECT_EQ(open_dataset(options)->image_shape().c, 3);
  options.colour = Colour::grey;
  EXPECT_EQ(open_dataset(options)->image_shape().c, 1);
  options.crop = 11;
  EXPECT_ERROR(open_dataset(options), "cannot be cropped to 11");
}

TEST(ImageFolder, PaddingOfTwentyEightWaitsForAll) {
  const TemporaryFolder folder;
  add(folder / "a.png", 1, 32, 32);
  add(folder / "b.png", 2, 28, 28);
  auto options = source(folder.path().string());
  options.pad = -1;
  EXPECT_ERROR(open_dataset(options), "28x28 pixels where");
  fs::remove(folder / "a.png");
  EXPECT_EQ(open_dataset(options)->image_shape(), (Shape{1, 3, 32, 32}));
}

// Read as they are needed, or all at once: the same images.
TEST(ImageFolder, StreamedIsTheSame) {
  const TemporaryFolder folder;
  for (int i = 0; i < 5; ++i)
    add(folder / "train" / (i < 3 ? "cat" : "dog") / (std::to_string(i) + ".png"), i, 28, 28);
  add(folder / "test/cat/9.png", 9, 28, 28);
  auto options = source(folder.path().string());
  options.pad = -1;
  const auto whole = open_dataset(options);
  options.source = "stream:" + folder.path().string();
  const auto streamed = open_dataset(options);
  ASSERT_EQ(streamed->size(), 5);
  EXPECT_EQ(streamed->image_shape(), (Shape{1, 3, 32, 32}));
  EXPECT_EQ(streamed->class_names(), whole->class_names());
  EXPECT_EQ(streamed->part(), whole->part());
  for (int64_t i = 0; i < 5; ++i) {
    EXPECT_EQ(read_all(*streamed, i), read_all(*whole, i));
    EXPECT_EQ(streamed->label(i), whole->label(i));
  }
  fs::remove(folder / "train/dog/4.png");  // nothing was kept
  EXPECT_ERROR(read_all(*streamed, 4), "4.png");
  options.limit = 2;
  EXPECT_EQ(open_dataset(options)->size(), 2);
  options.skip_damaged = true;
  EXPECT_ERROR(open_dataset(options), "--skip-damaged");
}

TEST(ImageFolder, BadFoldersAreErrors) {
  const TemporaryFolder folder;
  EXPECT_ERROR(open_dataset(source(folder.path().string())), "no images in this folder");
  add(folder / "10.png", 1);
  const std::string good = read_text(folder / "10.png");
  for (int i = 11; i < 50; ++i) put(folder / (std::to_string(i) + ".png"), good);
  EXPECT_EQ(open_dataset(source(folder.path().string()))->size(), 40);
  put(folder / "30.png", good.substr(0, good.size() - 8));
  EXPECT_ERROR(open_dataset(source(folder.path().string())), "30.png: damaged PNG file");
  put(folder / "30.png", "");
  EXPECT_ERROR(open_dataset(source(folder.path().string())), "30.png: the file is empty");
}

}  // namespace
}  // namespace mdsm::data

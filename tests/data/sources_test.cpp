// The table of sources, and a source of a program's own.
#include "data/sources.h"

#include "core/options.h"
#include "data/data_options.h"
#include "data/make_files.h"
#include "data/pictures.h"
#include "io/npy.h"
#include "temporary_folder.h"

namespace mdsm::data {
namespace {

RawImages read_dots(const SourceRequest& request) {
  RawImages raw;
  raw.shape = {request.limited(5), 1, 2, 2};
  raw.values = std::vector<float>(static_cast<size_t>(raw.shape.count()), 0.3f);
  raw.labels.assign(static_cast<size_t>(raw.shape.n), 1);
  raw.from = request.path.empty() ? "nowhere" : request.path.string();
  raw.part = request.options.split;
  return fit(std::move(raw), request.options);
}

// Added once for all tests of this program; they stay until it ends.
void add_own_sources() {
  if (sources().find("dots")) return;
  sources().add({.name = "dots",
                 .what = "two by two dots",
                 .how_to_get = "draw them",
                 .folder = "dots",
                 .files = "a .dots file",
                 .recognises = [](const fs::path& path) { return ends_with(path, {".dots"}); },
                 .read = read_dots,
                 .classes = {"none", "some"}});
  sources().add({.name = "made-dots", .what = "dots without a file", .read = read_dots});
}

TEST(SourceTable, WhatShipsIsKnown) {
  EXPECT_TRUE(source_names().starts_with("fashion-mnist, mnist, stacked-mnist, cifar10, cifar100, svhn"));
  for (const char* format : {"images", "npy", "idx"}) {
    ASSERT_TRUE(sources().find(format)) << format;
    EXPECT_FALSE(sources().find(format)->has_name()) << format;
  }
  EXPECT_THROW(sources().add({.name = "mnist"}), std::logic_error);
}

TEST(SourceTable, PathsAreRecognised) {
  const TemporaryFolder folder;
  make_idx_folder(folder / "idx", 3, 2);
  make_cifar_folder(folder / "bin", 4);
  fs::create_directories(folder / "photos");
  const auto name = [](const fs::path& path) { return recognise(path) ? recognise(path)->name : ""; };
  EXPECT_EQ(name(folder / "idx"), "mnist");
  EXPECT_EQ(name(folder / "bin"), "cifar10");
  EXPECT_EQ(name(folder / "photos"), "images");
  EXPECT_EQ(name("x-idx3.npy"), "npy");
  EXPECT_EQ(name("x.mat"), "svhn");
  EXPECT_EQ(name("x.tar.gz"), "archive");
  EXPECT_EQ(name("x.zip"), "archive");
  EXPECT_EQ(name("x.npz"), "npz");
  EXPECT_EQ(name("data_batch_1"), "cifar10");
  EXPECT_EQ(name("x.JPG"), "images");
  EXPECT_EQ(name("train-images-idx3-ubyte"), "idx");
  EXPECT_EQ(name("x.pdf"), "");
}

TEST(SourceTable, AFormatCanBeNamedBeforeAPath) {
  const TemporaryFolder folder;
  io::write_npy(folder / "array", {2, 4, 4}, std::vector<float>(32, 0.5f));
  EXPECT_ERROR(open_dataset(source((folder / "array").string())), "no known kind of data file");
  EXPECT_EQ(open_dataset(source("npy:" + (folder / "array").string()))->size(), 2);
}

TEST(OwnSource, IsFoundByNameByPathAndByContent) {
  add_own_sources();
  const TemporaryFolder folder;
  put(folder / "x.dots", "");
  for (const std::string& text : {(folder / "x.dots").string(), "dots:" + (folder / "x.dots").string()}) {
    const auto set = open_dataset(source(text));
    EXPECT_EQ(set->size(), 5);
    EXPECT_EQ(set->class_names()[1], "some");
  }
  auto options = source("made-dots");
  options.limit = 3;
  EXPECT_EQ(open_dataset(options)->description(), "made-dots train: 3 images, 1 channel, 2x2, from nowhere");
  EXPECT_ERROR(open_dataset(source("dots")), "draw them");
  EXPECT_ERROR(open_dataset(source("dotz")), "svhn, dots, made-dots");
}

TEST(OwnSource, ComesBeforeThoseThatShip) {
  add_own_sources();
  const TemporaryFolder folder;
  fs::create_directories(folder / "x.dots");  // any folder would do for the images
  EXPECT_EQ(recognise(folder / "x.dots")->name, "dots");
}

TEST(OwnSource, ShowsInHelp) {
  add_own_sources();
  DataOptions data;
  OptionSet options("train", "");
  declare_data_options(options, data);
  EXPECT_NE(options.help().find("made-dots"), std::string::npos);
}

// A float array reaches the network as it is, whatever lies between two grey levels; bytes stay bytes.
TEST(Pictures, OfFloatSourcesAreNotRounded) {
  const TemporaryFolder folder;
  std::vector<float> values;
  for (int i = 0; i < 2 * 16; ++i) values.push_back((static_cast<float>(i) + 0.37f) / 255.0f);
  io::write_npy(folder / "x.npy", {2, 4, 4}, values);
  const DataOptions options = source((folder / "x.npy").string());
  const Pictures floats = pictures_of(open_dataset(options), options);
  const auto second = std::get<std::vector<float>>(floats.read(1).values);
  EXPECT_EQ(second, std::vector<float>(values.begin() + 16, values.end()));
  io::write_npy(folder / "x.npy", {1, 4, 4}, std::vector<uint8_t>(16, 77));
  const Pictures bytes = pictures_of(open_dataset(options), options);
  EXPECT_EQ(std::get<std::vector<uint8_t>>(bytes.read(0).values), std::vector<uint8_t>(16, 77));
}

}  // namespace
}  // namespace mdsm::data

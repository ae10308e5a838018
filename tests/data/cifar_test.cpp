#include <random>

#include "data/make_files.h"
#include "temporary_folder.h"

namespace mdsm::data {
namespace {

std::vector<std::pair<std::string, std::string>> archive_files() {
  std::vector<std::pair<std::string, std::string>> files;
  for (int64_t k = 4; k >= 0; --k)  // the order in the archive does not matter
    files.push_back(
        {"cifar-10-batches-bin/data_batch_" + std::to_string(k + 1) + ".bin", cifar_records(k * 2, 2)});
  files.push_back({"cifar-10-batches-bin/readme.html", "<html>"});
  files.push_back({"cifar-10-batches-bin/test_batch.bin", cifar_records(50, 3)});
  return files;
}

void expect_train(const Dataset& set) {
  ASSERT_EQ(set.size(), 10);
  EXPECT_EQ(set.image_shape(), (Shape{1, 3, 32, 32}));
  for (int64_t i = 0; i < 10; ++i) {
    expect_made(set, i, i);
    EXPECT_EQ(set.label(i), digit(i));
  }
  EXPECT_EQ(set.class_names()[6], "frog");
}

TEST(Cifar10, FolderArchiveAndSingleFile) {
  const TemporaryFolder folder;
  make_cifar_folder(folder / "bin", 2);
  expect_train(*open_dataset(source("cifar10:" + (folder / "bin").string())));
  expect_train(*open_dataset(source((folder / "bin").string())));
  make_tar_gz(folder / "cifar-10-binary.tar.gz", archive_files());
  expect_train(*open_dataset(source((folder / "cifar-10-binary.tar.gz").string())));
  expect_train(*open_dataset(source("cifar10:" + folder.path().string())));  // the archive in that folder
  auto options = source((folder / "cifar-10-binary.tar.gz").string());
  options.split = Split::test;
  const auto test = open_dataset(options);
  EXPECT_EQ(test->size(), 3);
  expect_made(*test, 0, 50);
  options.limit = 1;
  EXPECT_EQ(open_dataset(options)->size(), 1);
  const auto single = open_dataset(source((folder / "bin/data_batch_2.bin").string()));
  EXPECT_EQ(single->size(), 2);
  expect_made(*single, 0, 2);
}

TEST(Cifar10, BadFilesAreErrors) {
  const TemporaryFolder folder;
  const fs::path file = folder / "x.bin";
  const auto read = [&](const std::string& bytes) {
    put(file, bytes);
    return open_dataset(source(file.string()));
  };
  const std::string good = cifar_records(0, 2);
  EXPECT_NO_THROW(read(good));
  EXPECT_ERROR(read(""), "no whole number of CIFAR-10 records");
  EXPECT_ERROR(read(good.substr(0, 4000)), "4000 bytes");
  std::string label = good;
  label[3073] = 77;
  EXPECT_ERROR(read(label), "record 1 has the label 77");
  make_cifar_folder(folder / "bin", 2);
  fs::remove(folder / "bin/data_batch_3.bin");
  EXPECT_ERROR(open_dataset(source((folder / "bin").string())), "has no data_batch_3.bin");
  auto files = archive_files();
  files.pop_back();
  make_tar_gz(folder / "a.tar.gz", files);
  auto options = source((folder / "a.tar.gz").string());
  options.split = Split::test;
  EXPECT_ERROR(open_dataset(options), "has no test_batch.bin");
  put(folder / "b.tar.gz", "not an archive at all");
  EXPECT_ERROR(open_dataset(source((folder / "b.tar.gz").string())), "damaged archive");
}

TEST(Cifar10, TruncatedAndDamagedArchives) {
  const TemporaryFolder folder;
  make_tar_gz(folder / "good.tar.gz", archive_files());
  const std::string good = read_text(folder / "good.tar.gz");
  const fs::path file = folder / "x.tar.gz";
  for (size_t length = 0; length < good.size() - 20; length += 1 + good.size() / 60) {
    put(file, good.substr(0, length));
    EXPECT_THROW(open_dataset(source(file.string())), Error) << length;
  }
  std::mt19937 random(1);
  for (int i = 0; i < 100; ++i) {
    std::string bytes = good;
    bytes[random() % bytes.size()] ^= static_cast<char>(1 + random() % 255);
    put(file, bytes);
    try {
      open_dataset(source(file.string()));
    } catch (const Error&) {
    }
  }
}

}  // namespace
}  // namespace mdsm::data

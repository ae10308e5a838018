// Small data files of each format for the tests, written by the libraries' own writers.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/files.h"
#include "data/dataset.h"

namespace mdsm::data {

// Value of pixel (y, x) of image i, channel c in the made files: unlike its neighbours in every direction.
inline uint8_t pixel(int64_t i, int64_t c, int64_t y, int64_t x) {
  return static_cast<uint8_t>(i * 71 + c * 97 + y * 13 + x * 3 + 5);
}
inline int digit(int64_t i) { return static_cast<int>(i * 7 % 10); }

std::string idx_images(int64_t count, int64_t size);
std::string idx_labels(int64_t count);
std::string gzip(const std::string& bytes);
// train-images and so on, gzip, with so many images of size x size.
void make_idx_folder(const fs::path& folder, int64_t train, int64_t test, int64_t size = 28);

std::string cifar_records(int64_t first, int64_t count);
void make_cifar_folder(const fs::path& folder, int64_t images_a_file);
// name in the archive and content
void make_tar_gz(const fs::path& path, const std::vector<std::pair<std::string, std::string>>& files);

void make_svhn_mat(const fs::path& path, int64_t count, bool compressed = true, int64_t labels = -1);

std::vector<float> read_all(const Dataset& dataset, int64_t index);
DataOptions source(const std::string& text);  // with no automatic padding

// Expects image i of a set made with pixel() to hold image `made` of it.
void expect_made(const Dataset& dataset, int64_t i, int64_t made);

}  // namespace mdsm::data

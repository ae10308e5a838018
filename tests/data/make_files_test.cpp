#include <archive.h>
#include <archive_entry.h>
#include <gtest/gtest.h>
#include <matio.h>
#include <zlib.h>

#include "data/make_files.h"
#include "temporary_folder.h"

namespace mdsm::data {
namespace {

std::string big_endian(int64_t value) {
  std::string text;
  for (int shift = 24; shift >= 0; shift -= 8) text += static_cast<char>(value >> shift & 255);
  return text;
}

}  // namespace

std::string idx_images(int64_t count, int64_t size) {
  std::string text = big_endian(0x803) + big_endian(count) + big_endian(size) + big_endian(size);
  for (int64_t i = 0; i < count; ++i)
    for (int64_t y = 0; y < size; ++y)
      for (int64_t x = 0; x < size; ++x) text += static_cast<char>(pixel(i, 0, y, x));
  return text;
}

std::string idx_labels(int64_t count) {
  std::string text = big_endian(0x801) + big_endian(count);
  for (int64_t i = 0; i < count; ++i) text += static_cast<char>(digit(i));
  return text;
}

std::string gzip(const std::string& bytes) {
  const TemporaryFolder folder;
  const std::string path = (folder / "x.gz").string();
  gzFile file = gzopen(path.c_str(), "wb");
  gzwrite(file, bytes.data(), static_cast<unsigned>(bytes.size()));
  gzclose(file);
  return read_text(path);
}

void make_idx_folder(const fs::path& folder, int64_t train, int64_t test, int64_t size) {
  put(folder / "train-images-idx3-ubyte.gz", gzip(idx_images(train, size)));
  put(folder / "train-labels-idx1-ubyte.gz", gzip(idx_labels(train)));
  put(folder / "t10k-images-idx3-ubyte.gz", gzip(idx_images(test, size)));
  put(folder / "t10k-labels-idx1-ubyte.gz", gzip(idx_labels(test)));
}

std::string cifar_records(int64_t first, int64_t count) {
  std::string text;
  for (int64_t i = first; i < first + count; ++i) {
    text += static_cast<char>(digit(i));
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t y = 0; y < 32; ++y)
        for (int64_t x = 0; x < 32; ++x) text += static_cast<char>(pixel(i, c, y, x));
  }
  return text;
}

void make_cifar_folder(const fs::path& folder, int64_t images_a_file) {
  for (int64_t k = 0; k < 5; ++k)
    put(folder / ("data_batch_" + std::to_string(k + 1) + ".bin"),
        cifar_records(k * images_a_file, images_a_file));
  put(folder / "test_batch.bin", cifar_records(50, images_a_file));
}

void make_tar_gz(const fs::path& path, const std::vector<std::pair<std::string, std::string>>& files) {
  archive* out = archive_write_new();
  archive_write_add_filter_gzip(out);
  archive_write_set_format_ustar(out);
  archive_write_open_filename(out, path.c_str());
  for (const auto& [name, content] : files) {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_size(entry, static_cast<la_int64_t>(content.size()));
    archive_entry_set_filetype(entry, AE_IFREG);
    archive_entry_set_perm(entry, 0644);
    archive_write_header(out, entry);
    archive_write_data(out, content.data(), content.size());
    archive_entry_free(entry);
  }
  archive_write_close(out);
  archive_write_free(out);
}

void make_svhn_mat(const fs::path& path, int64_t count, bool compressed, int64_t labels) {
  std::vector<uint8_t> x;
  for (int64_t i = 0; i < count; ++i)
    for (int64_t c = 0; c < 3; ++c)
      for (int64_t column = 0; column < 32; ++column)
        for (int64_t row = 0; row < 32; ++row) x.push_back(pixel(i, c, row, column));
  std::vector<double> y;
  for (int64_t i = 0; i < (labels < 0 ? count : labels); ++i) y.push_back(digit(i) == 0 ? 10 : digit(i));
  mat_t* mat = Mat_CreateVer(path.c_str(), nullptr, MAT_FT_MAT5);
  size_t x_dims[4] = {32, 32, 3, static_cast<size_t>(count)}, y_dims[2] = {y.size(), 1};
  const auto compression = compressed ? MAT_COMPRESSION_ZLIB : MAT_COMPRESSION_NONE;
  matvar_t* variable = Mat_VarCreate("X", MAT_C_UINT8, MAT_T_UINT8, 4, x_dims, x.data(), 0);
  Mat_VarWrite(mat, variable, compression);
  Mat_VarFree(variable);
  variable = Mat_VarCreate("y", MAT_C_DOUBLE, MAT_T_DOUBLE, 2, y_dims, y.data(), 0);
  Mat_VarWrite(mat, variable, compression);
  Mat_VarFree(variable);
  Mat_Close(mat);
}

std::vector<float> read_all(const Dataset& dataset, int64_t index) {
  std::vector<float> image(static_cast<size_t>(dataset.image_shape().per_image()));
  dataset.read(index, image);
  return image;
}

DataOptions source(const std::string& text) {
  DataOptions options;
  options.source = text;
  options.pad = 0;
  return options;
}

void expect_made(const Dataset& dataset, int64_t i, int64_t made) {
  const Shape s = dataset.image_shape();
  const auto image = read_all(dataset, i);
  for (int64_t c = 0; c < s.c; ++c)
    for (int64_t y = 0; y < s.h; ++y)
      for (int64_t x = 0; x < s.w; ++x)
        ASSERT_EQ(image[static_cast<size_t>((c * s.h + y) * s.w + x)],
                  static_cast<float>(pixel(made, c, y, x)) / 255.f)
            << "image " << i << " channel " << c << " row " << y << " column " << x;
}

}  // namespace mdsm::data

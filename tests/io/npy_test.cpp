#include "io/npy.h"

#include <cmath>
#include <cstdlib>
#include <limits>
#include <random>

#include "temporary_folder.h"

namespace mdsm::io {
namespace {

// An .npy file by hand, independent of write_npy.
std::string npy_text(const std::string& dictionary, const std::string& data, int major = 1) {
  std::string header = dictionary + "\n";
  std::string text = std::string("\x93NUMPY") + static_cast<char>(major) + '\0';
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) text += static_cast<char>(header.size() >> (8 * i) & 255);
  return text + header + data;
}

template <class T>
std::string bytes_of(const std::vector<T>& values) {
  return {reinterpret_cast<const char*>(values.data()), values.size() * sizeof(T)};
}

TEST(Npy, FloatsAndBytesComeBack) {
  const TemporaryFolder folder;
  const std::vector<float> floats = {0.f, -1.5f, 3.25f, std::numeric_limits<float>::infinity(), 1e-30f, 7.f};
  write_npy(folder / "f.npy", {2, 3}, floats);
  const NpyArray a = read_npy(folder / "f.npy");
  EXPECT_EQ(a.shape, (std::vector<int64_t>{2, 3}));
  EXPECT_EQ(std::get<std::vector<float>>(a.values), floats);
  const std::vector<uint8_t> bytes = {0, 1, 128, 255};
  write_npy(folder / "b.npy", {4}, bytes);
  const NpyArray b = read_npy(folder / "b.npy");
  EXPECT_EQ(b.shape, (std::vector<int64_t>{4}));
  EXPECT_EQ(std::get<std::vector<uint8_t>>(b.values), bytes);
  EXPECT_EQ(fs::file_size(folder / "b.npy") % 64, 4u);  // NumPy aligns the data to 64 bytes
}

TEST(Npy, ReadsWhatNumpyWrites) {
  const TemporaryFolder folder;
  const std::vector<double> doubles = {0.5, 0.25, -2};
  for (const int major : {1, 2, 3}) {
    put(folder / "d.npy",
        npy_text("{'descr': '<f8', 'fortran_order': False, 'shape': (3,), }", bytes_of(doubles), major));
    const NpyArray d = read_npy(folder / "d.npy");
    EXPECT_EQ(std::get<std::vector<float>>(d.values), (std::vector<float>{0.5f, 0.25f, -2.f}));
  }
  put(folder / "s.npy", npy_text("{'shape': (), 'fortran_order': False, 'descr': '|u1'}", "x"));
  EXPECT_TRUE(read_npy(folder / "s.npy").shape.empty());
  put(folder / "e.npy", npy_text("{'descr': '<f4', 'fortran_order': False, 'shape': (0, 5), }", ""));
  EXPECT_TRUE(std::get<std::vector<float>>(read_npy(folder / "e.npy").values).empty());
}

TEST(Npy, BadFilesAreErrors) {
  const TemporaryFolder folder;
  const auto read = [&](const std::string& text) {
    put(folder / "x.npy", text);
    return read_npy(folder / "x.npy");
  };
  const std::string good = "{'descr': '|u1', 'fortran_order': False, 'shape': (4,), }";
  EXPECT_NO_THROW(read(npy_text(good, "abcd")));
  EXPECT_ERROR(read_npy(folder / "none.npy"), "no such file");
  EXPECT_ERROR(read_npy(folder.path()), "not a plain file");
  EXPECT_ERROR(read(""), "not an .npy file");
  EXPECT_ERROR(read("PK\x03\x04 something"), "not an .npy file");
  EXPECT_ERROR(read(npy_text(good, "abc")), "the file holds 3 bytes");
  EXPECT_ERROR(read(npy_text(good, "abcde")), "the file holds 5 bytes");
  EXPECT_ERROR(read(npy_text(good, "abcd").substr(0, 30)), "ends inside its header");
  EXPECT_ERROR(read(npy_text(good, "abcd", 9)), "version 9");
  EXPECT_ERROR(read(npy_text("{'descr': '<i8', 'fortran_order': False, 'shape': (1,), }", "12345678")),
               "'<i8'");
  EXPECT_ERROR(read(npy_text("{'descr': '>f4', 'fortran_order': False, 'shape': (1,), }", "1234")), "'>f4'");
  EXPECT_ERROR(read(npy_text("{'descr': '|u1', 'fortran_order': True, 'shape': (4,), }", "abcd")), "Fortran");
  EXPECT_ERROR(read(npy_text("{'descr': '|u1', 'shape': (4,), }", "abcd")), "not understood");
  EXPECT_ERROR(read(npy_text("{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (4,), }", "")),
               "not understood");
  EXPECT_ERROR(read(npy_text("{'descr': '|u1', 'fortran_order': False, 'shape': (-4,), }", "abcd")),
               "not understood");
  // Extents whose product overflows 64 bits.
  EXPECT_ERROR(
      read(npy_text("{'descr': '|u1', 'fortran_order': False, 'shape': (4294967296, 4294967296, 4), }",
                    "abcd")),
      "the file holds 4 bytes");
}

TEST(Npy, DamagedHeadersNeverCrash) {
  const TemporaryFolder folder;
  const std::string good = npy_text("{'descr': '|u1', 'fortran_order': False, 'shape': (2, 2), }", "abcd");
  std::mt19937 random(1);
  int errors = 0;
  for (int i = 0; i < 500; ++i) {
    std::string text = good;
    for (int k = 0; k < 2; ++k) text[random() % text.size()] = static_cast<char>(random());
    put(folder / "x.npy", text);
    try {
      read_npy(folder / "x.npy");
    } catch (const Error&) {
      ++errors;
    }
  }
  EXPECT_GT(errors, 400);
}

TEST(Npy, ShapeAndValuesMustAgreeWhenWriting) {
  const TemporaryFolder folder;
  EXPECT_ERROR(write_npy(folder / "x.npy", {3}, std::vector<float>{1.f, 2.f}), "2 values for the shape (3)");
  EXPECT_FALSE(fs::exists(folder / "x.npy"));
}

}  // namespace
}  // namespace mdsm::io

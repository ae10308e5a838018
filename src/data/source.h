// What a source of images is: a row that says how it is named, found and read. For those who write one: a
// file of its own with a function that returns the row, and its name in the list of sources.cpp; or, in a
// program of one's own, sources().add(row).
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <vector>

#include "core/files.h"
#include "data/dataset.h"
#include "image/picture.h"

namespace mdsm::data {

struct RawImages {
  Shape shape;                       // n images
  image::PixelValues values;         // N,C,H,W; bytes, or floats in [0,1]
  std::vector<int32_t> labels;       // one per image, or none at all
  std::vector<std::string> classes;  // names of the labels 0, 1, ...; may be empty
  std::string from;                  // the file or folder it was read from
  std::optional<Split> part;         // none where the source has no parts
};

struct SourceRequest {
  fs::path path;  // a file or a folder, existing; empty for a source without files
  DataOptions options;

  bool test() const { return options.split == Split::test; }
  std::string split() const { return to_string(options.split); }
  int64_t limited(int64_t count) const {
    return options.limit > 0 && options.limit < count ? options.limit : count;
  }
};

struct Source {
  std::string name;           // as in --data NAME and NAME:PATH
  std::string what{};         // one line about its content
  std::string how_to_get{};   // for messages and `mdsm data --list`
  std::string folder{};       // its folder's name in the search folders; empty where it is not found by name
  std::string files{};        // what it is recognised by, for people: "an .npy array"
  bool only_by_name = false;  // its files look like those of another source
  // Whether a file or folder is one of this source. Without it the source has no files and is made by read().
  std::function<bool(const fs::path&)> recognises{};
  // The images, fitted (crop, resize, pad, colour: see fit()) and limited as asked for.
  std::function<RawImages(const SourceRequest&)> read{};
  // A data set of the source's own kind in place of one in memory; none: it is to be read.
  std::function<std::unique_ptr<Dataset>(const SourceRequest&)> open{};
  std::vector<std::string> classes{};  // names of the labels, where the files do not tell

  bool has_files() const { return static_cast<bool>(recognises); }
  // A mere format has files that only a path leads to.
  bool has_name() const { return !folder.empty() || !has_files(); }
};

// One picture as a source of its own; `from` is for messages.
RawImages raw_image(image::Picture picture, std::string from);

// Applies crop, resize, pad and colour to every image.
RawImages fit(RawImages images, const DataOptions& options);

constexpr int64_t kMaxDeflateRatio = 1100;  // deflate cannot do better than 1032 to 1
// Whether so many bytes are so much more than the file they are packed in, far more than images are, that
// they are first unpacked without being kept: a damaged file is then found before it takes memory.
constexpr bool packed_much(int64_t bytes, int64_t file_bytes) {
  return bytes > int64_t{64} << 20 && bytes / 100 > file_bytes;
}

// For recognises(): these never throw.
bool is_folder(const fs::path& path);
// Whether the path ends with one of these, as ".npy", and has more before it.
bool ends_with(const fs::path& path, std::initializer_list<std::string_view> ends);

}  // namespace mdsm::data

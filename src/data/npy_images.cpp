// Images in an array: uint8, or floats in [0,1]; N,H,W or N,C,H,W or N,H,W,C. An .npy file holds one; an .npz
// file several, of which arr_0 (or the only one) is the images and arr_1 the labels, as ADM writes its
// samples.
#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "data/source.h"
#include "io/archive.h"
#include "io/npy.h"

namespace mdsm::data {
namespace {

// The channels are the shorter of the axes 1 and 3; where they are equal, axis 1.
bool channels_last(const std::vector<int64_t>& shape) { return shape.size() == 4 && shape[3] < shape[1]; }

Shape shape_of(const std::vector<int64_t>& s, const std::string& name) {
  if (s.size() != 3 && s.size() != 4)
    fail("save N,H,W or N,C,H,W or N,H,W,C", "{}: an array of {} dimensions", name, s.size());
  for (const int64_t extent : s)
    if (extent < 1)
      fail("save at least one image", "{}: an array of ({}) is empty", name, fmt::join(s, ", "));
  if (s.size() == 3) return {s[0], 1, s[1], s[2]};
  return channels_last(s) ? Shape{s[0], s[3], s[1], s[2]} : Shape{s[0], s[1], s[2], s[3]};
}

template <class T>
void channels_first(std::vector<T>& values, const Shape& s) {
  std::vector<T> out(values.size());
  const int64_t plane = s.h * s.w;
  for (int64_t i = 0; i < s.n; ++i)
    for (int64_t c = 0; c < s.c; ++c)
      for (int64_t p = 0; p < plane; ++p)
        out[static_cast<size_t>((i * s.c + c) * plane + p)] =
            values[static_cast<size_t>((i * plane + p) * s.c + c)];
  values = std::move(out);
}

void check_range(const std::vector<float>& values, const Shape& s, const std::string& name) {
  for (size_t i = 0; i < values.size(); ++i)
    if (!(values[i] >= 0.0f && values[i] <= 1.0f))
      fail("floats must lie between 0 and 1; scale them, or save uint8", "{}: image {} has the value {}",
           name, static_cast<int64_t>(i) / s.per_image(), values[i]);
}

RawImages from_array(io::NpyArray array, const SourceRequest& request, const std::string& name) {
  RawImages raw;
  raw.shape = shape_of(array.shape, name);
  raw.from = name;
  const int64_t wanted = request.limited(raw.shape.n);
  std::visit(
      [&](auto& values) {
        values.resize(static_cast<size_t>(wanted * raw.shape.per_image()));
        raw.shape.n = wanted;
        if (channels_last(array.shape)) channels_first(values, raw.shape);
      },
      array.values);
  if (const auto* floats = std::get_if<std::vector<float>>(&array.values))
    check_range(*floats, raw.shape, name);
  raw.values = std::move(array.values);
  return raw;
}

RawImages read_npy_images(const SourceRequest& request) {
  return fit(from_array(io::read_npy(request.path), request, request.path.string()), request.options);
}

io::ArchiveMembers open_npz(const fs::path& path) {
  return {path, io::ArchiveFormat::zip, "save it with numpy.savez"};
}

// The names of the arrays, without ".npy".
std::vector<std::string> array_names(const fs::path& path) {
  std::vector<std::string> names;
  for (io::ArchiveMembers members = open_npz(path); members.next();)
    if (fs::path(members.path()).extension() == ".npy")
      names.push_back(fs::path(members.path()).replace_extension().string());
  return names;
}

constexpr uint64_t kMaxNpyHeader = 1 << 17;

// To this array of the file; false where it has none.
bool find_array(io::ArchiveMembers& members, const std::string& array) {
  while (members.next())
    if (members.path() == array + ".npy") return true;
  return false;
}

io::NpyArray read_images(const SourceRequest& request, const std::string& array) {
  io::ArchiveMembers members = open_npz(request.path);
  if (!find_array(members, array)) members.fail_damaged();
  const uint64_t bytes = members.size(), packed = members.archive_bytes();
  if (bytes / kMaxDeflateRatio > packed)
    fail("use another copy of the file", "{}: {} of {} bytes is too much for {} bytes", request.path.string(),
         array, bytes, packed);
  if (packed_much(static_cast<int64_t>(bytes), static_cast<int64_t>(packed))) {
    io::ArchiveMembers first = open_npz(request.path);
    find_array(first, array);
    io::MemberStream stream(first);
    io::check_npy(stream, bytes, request.path.string() + ": " + array);
    first.skip();
  }
  io::MemberStream stream(members);
  io::NpyArray found = io::read_npy(stream, bytes, request.path.string() + ": " + array);
  members.skip();  // to where the checksum is compared
  return found;
}

// images: those of the file, of which raw may have fewer.
void add_labels(RawImages& raw, const SourceRequest& request, int64_t images) {
  io::ArchiveMembers members = open_npz(request.path);
  if (!find_array(members, "arr_1")) return;
  const std::string name = request.path.string() + ": arr_1";
  if (members.size() > static_cast<uint64_t>(images) * sizeof(double) + kMaxNpyHeader)
    fail("save one label for each image", "{}: {} bytes for {} images", name, members.size(), images);
  io::MemberStream stream(members);
  const io::NpyDoubles labels =
      io::read_npy_doubles(stream, members.size(), static_cast<uint64_t>(images), name);
  members.skip();
  const auto n = static_cast<size_t>(raw.shape.n);
  if (labels.shape.size() != 1 || labels.values.size() < n)
    fail("save one label for each image", "{}: an array of ({}) for {} images", name,
         fmt::join(labels.shape, ", "), n);
  for (size_t i = 0; i < n; ++i) {
    if (!(labels.values[i] >= 0 && labels.values[i] < 1e6 &&
          labels.values[i] == std::floor(labels.values[i])))
      fail("save whole numbers from 0", "{}: image {} has the label {}", name, i, labels.values[i]);
    raw.labels.push_back(static_cast<int32_t>(labels.values[i]));
  }
}

RawImages read_npz_images(const SourceRequest& request) {
  const std::string name = request.path.string();
  const std::vector<std::string> names = array_names(request.path);
  const bool usual = std::ranges::find(names, "arr_0") != names.end();
  if (!usual && names.size() != 1)
    fail("save the images as arr_0: numpy.savez(file, images)", "{}: {} arrays and none is arr_0{}", name,
         names.size(), names.empty() ? "" : fmt::format(": {}", fmt::join(names, ", ")));
  const std::string images = usual ? "arr_0" : names[0];
  io::NpyArray array = read_images(request, images);
  const int64_t n = array.shape.empty() ? 0 : array.shape[0];
  RawImages raw = from_array(std::move(array), request, name);
  if (images != "arr_1") add_labels(raw, request, n);
  return fit(std::move(raw), request.options);
}

}  // namespace

Source npy_source() {
  return {.name = "npy",
          .what = "images in one array",
          .files = "an .npy array",
          .recognises = [](const fs::path& path) { return !is_folder(path) && ends_with(path, {".npy"}); },
          .read = read_npy_images};
}

Source npz_source() {
  return {.name = "npz",
          .what = "images in the array arr_0, labels in arr_1",
          .files = "an .npz file",
          .recognises = [](const fs::path& path) { return !is_folder(path) && ends_with(path, {".npz"}); },
          .read = read_npz_images};
}

}  // namespace mdsm::data

#include "data/image_set.h"

#include <algorithm>
#include <mutex>
#include <set>

#include "core/error.h"
#include "core/log.h"
#include "core/threads.h"
#include "image/image.h"

namespace mdsm::data {
namespace {

// Images are decoded so many at a time: memory follows what really is one.
constexpr int64_t kBlockBytes = int64_t{32} << 20, kMostBlockBytes = int64_t{256} << 20, kMostInBlock = 4096;
constexpr int64_t kLargeImage = int64_t{1} << 20;  // bytes; a thread takes one at a time
constexpr size_t kMaxNamed = 20;                   // damaged files in one message
constexpr const char* kEndings[] = {".png", ".jpg", ".jpeg", ".tif", ".tiff", ".webp"};

std::string lower_end(const fs::path& file) {
  std::string end = file.extension().string();
  std::ranges::transform(end, end.begin(), [](unsigned char c) { return std::tolower(c); });
  return end;
}

// Those of one message; where there are more, lines before it name them all.
std::string list(const std::map<int64_t, std::string>& damaged) {
  std::string first, all;
  size_t named = 0;
  for (const auto& [number, what] : damaged) {
    if (named++ < kMaxNamed) first += (first.empty() ? "" : "; ") + what;
    all += "\n  " + what;
  }
  if (damaged.size() <= kMaxNamed) return first;
  log_warning("images that cannot be read:{}", all);
  return first + fmt::format("; and {} more, named above", damaged.size() - kMaxNamed);
}

void check_same(const Shape& first, const Shape& shape, const std::string& first_name,
                const std::string& name) {
  if (first == shape) return;
  if (first.c != shape.c)
    fail("use --colour grey or --colour rgb", "{}: {} channel{} where {} has {}", name, shape.c,
         shape.c == 1 ? "" : "s", first_name, first.c);
  fail("use --crop or --resize to make all images the same size", "{}: {}x{} pixels where {} has {}x{}", name,
       shape.w, shape.h, first_name, first.w, first.h);
}

}  // namespace

bool is_image_name(const fs::path& file) {
  return std::ranges::find(kEndings, lower_end(file)) != std::end(kEndings);
}

std::string image_endings() {
  return fmt::format("{} or {}", fmt::join(std::begin(kEndings), std::end(kEndings) - 1, ", "),
                     *(std::end(kEndings) - 1));
}

void warn_left_out(const std::string& where, const std::vector<std::string>& names) {
  if (names.empty()) return;
  std::map<std::string, int64_t> ends;
  for (const std::string& name : names)
    ++ends[fs::path(name).has_extension() ? lower_end(name) : "without ending"];
  std::string counts;
  for (const auto& [end, count] : ends)
    counts += fmt::format("{}{} {}", counts.empty() ? "" : ", ", count, end);
  log_warning("{}: {} file{} left out, whose names are not those of images ({}; {}{})", where, names.size(),
              names.size() == 1 ? " is" : "s are", counts, names.front(), names.size() > 1 ? ", ..." : "");
}

RawImages read_encoded(const EncodedImage& image, const DataOptions& options) {
  DataOptions steps = options;
  if (steps.pad < 0) steps.pad = 0;
  image::Picture picture;
  try {
    picture = image::to_picture(image::decode_image(image.bytes(), image.name));
  } catch (const Error& error) {
    throw DamagedImage(error.kind(), error.message(), error.hint());
  }
  return fit(raw_image(std::move(picture), image.name), steps);
}

// The first that can be read gives the size of all. Returns how many were tried.
int64_t ImageSetReader::find_shape(const std::vector<EncodedImage>& images) {
  const auto count = static_cast<int64_t>(images.size());
  for (int64_t i = 0; i < count; ++i) try {
      RawImages one = read_encoded(images[static_cast<size_t>(i)], options_);
      shape_ = one.shape;
      first_ = one.from;
      values_ = std::get<std::vector<uint8_t>>(std::move(one.values));
      return i + 1;
    } catch (const DamagedImage& error) {
      damaged_[given_ + i] = error.message();
    }
  return count;
}

// images[begin, end), in parallel. Damaged ones keep no place.
void ImageSetReader::read_block(const std::vector<EncodedImage>& images, int64_t begin, int64_t end) {
  const int64_t size = shape_.per_image(), before = static_cast<int64_t>(values_.size());
  values_.resize(static_cast<size_t>(before + (end - begin) * size));
  std::mutex mutex;
  parallel_for(end - begin, size < kLargeImage ? 16 : 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) try {
        const RawImages one = read_encoded(images[static_cast<size_t>(begin + i)], options_);
        check_same(shape_, one.shape, first_, one.from);
        std::ranges::copy(std::get<std::vector<uint8_t>>(one.values), values_.begin() + before + i * size);
      } catch (const DamagedImage& error) {
        const std::lock_guard lock(mutex);
        damaged_[given_ + begin + i] = error.message();
      }
  });
  int64_t kept = before;
  for (int64_t i = 0; i < end - begin; ++i) {
    if (damaged_.contains(given_ + begin + i)) continue;
    const auto from = values_.begin() + before + i * size;
    if (kept != before + i * size) std::copy_n(from, size, values_.begin() + kept);
    kept += size;
  }
  values_.resize(static_cast<size_t>(kept));
}

void ImageSetReader::read(const std::vector<EncodedImage>& images, const std::function<void(int64_t)>& done) {
  const auto count = static_cast<int64_t>(images.size());
  int64_t at = shape_.c == 0 ? find_shape(images) : 0;
  while (at < count) {
    const int64_t size = shape_.per_image(), left = count - at;
    const int64_t at_once = std::clamp<int64_t>(kMostBlockBytes / size, 1, thread_count());
    const int64_t block = std::clamp<int64_t>(kBlockBytes / size, at_once, kMostInBlock);
    const int64_t end = at + std::min(left, block);
    // Up to twice the room, but no more than all that are left may need.
    const size_t need = values_.size() + static_cast<size_t>((end - at) * size);
    if (need > values_.capacity())
      values_.reserve(
          std::max(need, std::min(2 * values_.size(), values_.size() + static_cast<size_t>(left * size))));
    read_block(images, at, end);
    if (done) done(end);
    at = end;
  }
  given_ += count;
}

// The labels, too, without the damaged ones, if that is what was asked for.
void ImageSetReader::leave_out_damaged(RawImages& raw) const {
  if (damaged_.empty()) return;
  const bool skip = options_.skip_damaged;
  if (damaged_.size() == 1 && !skip)
    fail("use another copy of it, or leave it out with --skip-damaged", "{}", damaged_.begin()->second);
  if (!skip)
    fail("use other copies of them, or leave them out with --skip-damaged",
         "{} of {} images cannot be read: {}", damaged_.size(), given_, list(damaged_));
  log_warning("{} of {} images cannot be read and are left out: {}", damaged_.size(), given_, list(damaged_));
  raw.shape.n = given_ - static_cast<int64_t>(damaged_.size());
  if (raw.labels.empty()) return;
  std::vector<int32_t> labels;
  for (int64_t i = 0; i < given_; ++i)
    if (!damaged_.contains(i)) labels.push_back(raw.labels[static_cast<size_t>(i)]);
  raw.labels = std::move(labels);
}

RawImages ImageSetReader::finish(std::vector<int32_t> labels) {
  if (shape_.c == 0 && given_ == 1) fail("use another copy of the file", "{}", damaged_.begin()->second);
  if (shape_.c == 0) fail("use other files", "none of {} images can be read: {}", given_, list(damaged_));
  RawImages raw;
  raw.shape = shape_.with_n(given_);
  raw.values = std::move(values_);
  raw.labels = std::move(labels);
  leave_out_damaged(raw);
  DataOptions rest;  // only the automatic padding is left to do
  rest.pad = options_.pad;
  return fit(std::move(raw), rest);
}

FolderLabels labels_by_folder(const std::vector<fs::path>& files) {
  std::set<std::string> names;
  for (const auto& file : files) {
    if (!file.has_parent_path()) return {};
    names.insert(file.begin()->string());
  }
  FolderLabels found{{names.begin(), names.end()}, {}};
  for (const auto& file : files)
    found.labels.push_back(static_cast<int32_t>(
        std::ranges::lower_bound(found.classes, file.begin()->string()) - found.classes.begin()));
  return found;
}

}  // namespace mdsm::data

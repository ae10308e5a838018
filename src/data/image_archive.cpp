// Images in a tar or zip archive, in the order of the archive: a folder that was packed (CLASS/*, train/ and
// test/), WebDataset shards (KEY.png beside KEY.cls), and the archives of EDM and StyleGAN (labels in
// dataset.json). A folder of tar files is read as one set, shard after shard. What there is,
// archive_listing.h finds out; what classes files name, archive_labels.h.
#include <algorithm>
#include <memory>
#include <set>

#include "core/error.h"
#include "core/progress.h"
#include "data/archive_labels.h"
#include "data/archive_listing.h"
#include "data/image_set.h"
#include "data/source.h"
#include "image/image.h"

namespace mdsm::data {
namespace {

constexpr size_t kMaxClass = 1 << 16;  // bytes of a .cls file
constexpr size_t kMaxLabel = 1 << 10;  // of an image's line in dataset.json
// Images that wait to be decoded together, and their bytes.
constexpr size_t kAtOnce = 256, kWaitingBytes = size_t{32} << 20;

bool is_archive_name(const fs::path& path) {
  return ends_with(path, {".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".zip"});
}

// Reads one archive after the other.
class ArchiveReader {
 public:
  ArchiveReader(const SourceRequest& request, const std::vector<fs::path>& archives);
  RawImages read();

 private:
  void read_archive(size_t number);
  void add_image(io::ArchiveMembers& members, const fs::path& file, size_t number);
  void flush();
  std::vector<int32_t> labels(RawImages& raw) const;

  const SourceRequest& request_;
  const std::vector<fs::path>& archives_;
  bool parts_ = false;  // before the listings, which find out
  std::vector<ArchiveListing> listings_;
  int64_t total_ = 0;
  ImageSetReader reader_;
  std::vector<EncodedImage> waiting_;
  size_t waiting_bytes_ = 0;
  std::vector<fs::path> taken_;
  LabelsByName by_key_, by_name_;
  Progress progress_;
};

int64_t count(const std::vector<ArchiveListing>& listings) {
  int64_t sum = 0;
  for (const ArchiveListing& one : listings) sum += static_cast<int64_t>(one.images.size());
  return sum;
}

ArchiveReader::ArchiveReader(const SourceRequest& request, const std::vector<fs::path>& archives)
    : request_(request),
      archives_(archives),
      listings_(list_archives(archives, request, parts_)),
      total_(request.limited(count(listings_))),
      reader_(request.options),
      progress_("reading images", total_, "images") {}

void ArchiveReader::flush() {
  const auto before = static_cast<int64_t>(taken_.size() - waiting_.size());
  reader_.read(waiting_, [&](int64_t done) { progress_.update(before + done); });
  waiting_.clear();
  waiting_bytes_ = 0;
}

// Of what does not begin as an image, or is far too large, no more than the beginning is kept; decoding then
// says what it is.
void ArchiveReader::add_image(io::ArchiveMembers& members, const fs::path& file, size_t number) {
  std::vector<std::byte> bytes(image::kImageStart);
  bytes.resize(members.read(bytes));
  const uint64_t most = largest_image(members);
  if (image::begins_as_image(bytes) && members.size() <= most) bytes = members.rest(most, std::move(bytes));
  waiting_bytes_ += bytes.size();
  taken_.push_back(fs::path(std::to_string(number)) / file);
  waiting_.push_back({fmt::format("{}: {}", archives_[number].string(), file.string()),
                      [content = std::make_shared<std::vector<std::byte>>(std::move(bytes))] {
                        return std::move(*content);
                      }});
  if (waiting_.size() >= kAtOnce || waiting_bytes_ >= kWaitingBytes) flush();
}

void ArchiveReader::read_archive(size_t number) {
  const fs::path& path = archives_[number];
  const ArchiveListing& listing = listings_[number];
  const std::set<fs::path> wanted(listing.images.begin(), listing.images.end());
  for (io::ArchiveMembers members(path); members.next();) {
    const fs::path file = cleaned(members.path());
    const std::string name = fmt::format("{}: {}", path.string(), file.string());
    if (is_labels_file(file))
      by_name_.merge(parse_labels(members.rest(kMaxClass + kMaxLabel * listing.all_images), name));
    else if (file.extension() == ".cls" && !is_hidden(file))
      by_key_[fmt::format("{}/{}", number, key_of(file))] = parse_class(members.rest(kMaxClass), name);
    else if (wanted.contains(file) && static_cast<int64_t>(taken_.size()) < total_)
      add_image(members, file, number);
  }
}

// Classes are numbers where files say them, else folders; images without one leave all without.
std::vector<int32_t> ArchiveReader::labels(RawImages& raw) const {
  std::vector<int32_t> found;
  std::vector<fs::path> inner;  // without the archive's number, and without train/ or test/
  for (const fs::path& file : taken_) {
    fs::path name = file.lexically_relative(*file.begin());
    const auto keyed = by_key_.find(key_of(file));
    const auto named = by_name_.find(name.string());
    if (keyed != by_key_.end()) found.push_back(keyed->second);
    if (keyed == by_key_.end() && named != by_name_.end()) found.push_back(named->second);
    inner.push_back(parts_ ? name.lexically_relative(*name.begin()) : std::move(name));
  }
  const bool has_file =
      std::ranges::any_of(listings_, &ArchiveListing::has_labels);  // its folders are no classes
  if (by_key_.empty() && by_name_.empty() && !has_file) {
    FolderLabels folders = labels_by_folder(inner);
    raw.classes = std::move(folders.classes);
    return std::move(folders.labels);
  }
  if (found.size() != taken_.size()) return {};
  return found;
}

RawImages ArchiveReader::read() {
  for (size_t i = 0; i < archives_.size() && static_cast<int64_t>(taken_.size()) < total_; ++i)
    read_archive(i);
  flush();
  RawImages names;
  std::vector<int32_t> classes = labels(names);
  RawImages raw = reader_.finish(std::move(classes));
  raw.classes = std::move(names.classes);
  raw.from = request_.path.string();
  if (parts_) raw.part = request_.options.split;
  return raw;
}

// The tar files of a folder that holds nothing else of interest.
std::vector<fs::path> shards(const fs::path& folder) {
  std::vector<fs::path> found;
  std::error_code error;
  for (auto it = fs::directory_iterator(folder, error); !error && it != fs::directory_iterator();
       it.increment(error)) {
    if (it->is_directory(error) || is_image_name(it->path())) return {};
    if (ends_with(it->path(), {".tar"})) found.push_back(it->path());
  }
  std::ranges::sort(found);
  return found;
}

RawImages read_archives(const SourceRequest& request) {
  const std::vector<fs::path> archives =
      fs::is_directory(request.path) ? shards(request.path) : std::vector{request.path};
  if (archives.empty())
    fail("name a folder of .tar files", "{}: no archives in this folder", request.path.string());
  return ArchiveReader(request, archives).read();
}

}  // namespace

Source image_archive_source() {
  return {.name = "archive",
          .what = "images in tar or zip archives",
          .files = "a .tar(.gz) or .zip of images (WebDataset and EDM too), a folder of .tar shards",
          .recognises =
              [](const fs::path& path) {
                return is_folder(path) ? !shards(path).empty() : is_archive_name(path);
              },
          .read = read_archives};
}

}  // namespace mdsm::data

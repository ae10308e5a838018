// Images in a tar or zip archive, in the order of the archive: a folder that was packed (CLASS/*, train/ and
// test/), WebDataset shards (KEY.png beside KEY.cls), and the archives of EDM and StyleGAN (labels in
// dataset.json). A folder of tar files is read as one set, shard after shard.
#include <algorithm>
#include <charconv>
#include <map>
#include <set>

#include "core/error.h"
#include "core/json.h"
#include "core/progress.h"
#include "data/image_set.h"
#include "data/source.h"
#include "io/archive.h"

namespace mdsm::data {
namespace {

constexpr size_t kMaxFile = size_t{256} << 20;  // bytes of one file in the archive
constexpr size_t kAtOnce = 256;                 // images that wait to be decoded together
constexpr const char* kLabelsFile = "dataset.json";
constexpr int64_t kMaxClasses = 1'000'000;

bool is_archive_name(const fs::path& path) {
  return ends_with(path, {".tar", ".tar.gz", ".tgz", ".tar.bz2", ".tar.xz", ".tar.zst", ".zip"});
}

// Without the "./" that tar writes, and never absolute.
fs::path cleaned(const std::string& entry) { return fs::path(entry).lexically_normal().relative_path(); }

bool is_hidden(const fs::path& file) {
  return std::ranges::any_of(file, [](const fs::path& part) { return part.native().starts_with('.'); });
}

// WebDataset's: everything up to the first dot of the file's own name.
std::string key_of(const fs::path& file) {
  const std::string name = file.filename().string();
  return (file.parent_path() / name.substr(0, name.find('.'))).string();
}

// What is in an archive, by names alone.
struct Listing {
  std::vector<fs::path> images;
  std::vector<std::string> others;
  std::set<std::string> classes;  // keys that have a .cls file
  bool has_labels = false;        // in dataset.json
};

Listing list(const fs::path& path) {
  Listing found;
  io::ArchiveEntries entries;
  entries.format = io::archive_format(path);
  entries.name = [&](const std::string& entry) -> std::string {
    const fs::path file = cleaned(entry);
    if (is_hidden(file)) return "";
    if (is_image_name(file))
      found.images.push_back(file);
    else if (file.extension() == ".cls")
      found.classes.insert(key_of(file));
    else if (file == kLabelsFile)
      found.has_labels = true;
    else
      found.others.push_back(file.string());
    return "";
  };
  io::for_each_entry(path, entries, {});
  return found;
}

// Keeps the images of one part where the archive has folders train or test, and takes that folder off their
// names.
bool choose_part(std::vector<fs::path>& images, const SourceRequest& request) {
  const auto in = [](const fs::path& file, const std::string& folder) {
    return file.has_parent_path() && *file.begin() == folder;
  };
  if (std::ranges::none_of(images,
                           [&](const fs::path& file) { return in(file, "train") || in(file, "test"); }))
    return false;
  std::erase_if(images, [&](const fs::path& file) { return !in(file, request.split()); });
  if (images.empty())
    fail("use the other part", "{}: has no images in {}/", request.path.string(), request.split());
  return true;
}

int32_t parse_class(const std::vector<std::byte>& bytes, const std::string& name) {
  std::string text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
  text.erase(text.find_last_not_of(" \r\n") + 1);
  int64_t value = -1;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0 || value >= kMaxClasses)
    fail("write the number of a class, from 0", "{}: no class in it", name);
  return static_cast<int32_t>(value);
}

using LabelOf = std::map<std::string, int32_t>;

// {"labels": [["00000/img00000000.png", 6], ...]}, or null there, which is none.
LabelOf parse_labels(const std::vector<std::byte>& bytes, const std::string& name) {
  const auto damaged = [&](const std::string& what) { fail("use another copy of it", "{}: {}", name, what); };
  const JsonObject file =
      JsonObject::parse({reinterpret_cast<const char*>(bytes.data()), bytes.size()}, damaged);
  LabelOf labels;
  if (!file.has("labels") || file.at("labels").is_null()) return labels;
  if (!file.at("labels").is_array()) damaged("labels is no list");
  for (const nlohmann::json& pair : file.at("labels")) try {
      if (!pair.is_array() || pair.size() != 2) damaged("labels that are no pairs");
      const auto label = json_value<int32_t>(pair[1]);
      if (label < 0 || label >= kMaxClasses) damaged("a label below 0 or too large");
      labels[cleaned(json_value<std::string>(pair[0])).string()] = label;
    } catch (const JsonError& error) {
      damaged(fmt::format("a label that is {}", error.what()));
    }
  return labels;
}

// Reads one archive after the other.
class ArchiveReader {
 public:
  ArchiveReader(const SourceRequest& request, const std::vector<fs::path>& archives);
  RawImages read();

 private:
  void read_archive(size_t number);
  void flush();
  std::vector<int32_t> labels(RawImages& raw) const;

  const SourceRequest& request_;
  const std::vector<fs::path>& archives_;
  bool parts_ = false;  // before the listings, which find out
  std::vector<Listing> listings_;
  int64_t total_ = 0;
  ImageSetReader reader_;
  std::vector<EncodedImage> waiting_;
  std::vector<fs::path> taken_;
  LabelOf by_key_, by_name_;
  Progress progress_;
};

int64_t count(const std::vector<Listing>& listings) {
  int64_t sum = 0;
  for (const Listing& one : listings) sum += static_cast<int64_t>(one.images.size());
  return sum;
}

std::vector<Listing> list_all(const std::vector<fs::path>& archives, const SourceRequest& request,
                              bool& parts) {
  std::vector<Listing> listings;
  for (const fs::path& path : archives) {
    listings.push_back(list(path));
    if (listings.back().images.empty())
      fail(fmt::format("give an archive with {} files", image_endings()), "{}: no images in this archive{}",
           path.string(),
           listings.back().others.empty()
               ? ""
               : fmt::format("; {} other files, as {}", listings.back().others.size(),
                             listings.back().others[0]));
    warn_left_out(path.string(), listings.back().others);
    parts |= choose_part(listings.back().images, request);
  }
  return listings;
}

ArchiveReader::ArchiveReader(const SourceRequest& request, const std::vector<fs::path>& archives)
    : request_(request),
      archives_(archives),
      listings_(list_all(archives, request, parts_)),
      total_(request.limited(count(listings_))),
      reader_(request.options),
      progress_("reading images", total_, "images") {}

void ArchiveReader::flush() {
  const auto before = static_cast<int64_t>(taken_.size() - waiting_.size());
  reader_.read(waiting_, [&](int64_t done) { progress_.update(before + done); });
  waiting_.clear();
}

void ArchiveReader::read_archive(size_t number) {
  const fs::path& path = archives_[number];
  const Listing& listing = listings_[number];
  const std::set<fs::path> wanted(listing.images.begin(), listing.images.end());
  io::ArchiveEntries entries;
  entries.format = io::archive_format(path);
  entries.largest = kMaxFile;
  entries.name = [&](const std::string& entry) {
    const fs::path file = cleaned(entry);
    const bool image = wanted.contains(file) && static_cast<int64_t>(taken_.size()) < total_;
    return image || file == kLabelsFile || (file.extension() == ".cls" && !is_hidden(file)) ? file.string()
                                                                                            : "";
  };
  io::for_each_entry(path, entries, [&](const std::string& file, std::vector<std::byte> bytes) {
    const std::string name = fmt::format("{}: {}", path.string(), file);
    if (file == kLabelsFile) {
      by_name_.merge(parse_labels(bytes, name));
    } else if (fs::path(file).extension() == ".cls") {
      by_key_[fmt::format("{}/{}", number, key_of(file))] = parse_class(bytes, name);
    } else {
      taken_.push_back(fs::path(std::to_string(number)) / file);
      waiting_.push_back({name, [content = std::move(bytes)] { return content; }});
      if (waiting_.size() >= kAtOnce) flush();
    }
  });
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
  const bool has_file = std::ranges::any_of(listings_, &Listing::has_labels);  // its folders are no classes
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

#include "data/sources.h"

#include <algorithm>
#include <cstdlib>

// Every source that ships, in the order of `mdsm data --list`; name_source() is defined in the source's own
// file. Paths are offered to them in this order too: the folder of images takes any folder that is left, and
// an idx file is told by its first bytes where its name says nothing.
#define MDSM_SOURCES(each)                                                                    \
  each(fashion_mnist) each(mnist) each(stacked_mnist) each(cifar10) each(cifar100) each(svhn) \
      each(image_archive) each(image_folder) each(streamed_folder) each(npy) each(npz) each(idx)

namespace mdsm::data {

#define MDSM_DECLARE(name) Source name##_source();
MDSM_SOURCES(MDSM_DECLARE)

namespace {

std::vector<Source> built_in() {
#define MDSM_LIST(name) name##_source(),
  return {MDSM_SOURCES(MDSM_LIST)};
}

#define MDSM_COUNT(name) +1
constexpr std::ptrdiff_t kBuiltIn = 0 MDSM_SOURCES(MDSM_COUNT);

}  // namespace

Registry<Source>& sources() {
  static Registry<Source> table("data source", built_in());
  return table;
}

std::string source_names() {
  std::string names;
  for (const Source& source : sources())
    if (source.has_name()) names += (names.empty() ? "" : ", ") + source.name;
  return names;
}

// Formats first, then the files of public sets.
std::vector<std::string> file_kinds() {
  std::vector<std::string> kinds;
  for (const bool named : {false, true})
    for (const Source& source : sources())
      if (source.has_name() == named && !source.files.empty()) kinds.push_back(source.files);
  return kinds;
}

const Source* recognise(const fs::path& path) {
  std::vector<const Source*> asked;
  for (const Source& source : sources()) asked.push_back(&source);
  std::rotate(asked.begin(), asked.begin() + kBuiltIn, asked.end());  // a program's own know best
  const auto found = std::ranges::find_if(asked, [&](const Source* source) {
    return source->has_files() && !source->only_by_name && source->recognises(path);
  });
  return found == asked.end() ? nullptr : *found;
}

std::vector<fs::path> search_folders(const Source& source) {
  std::vector<fs::path> folders;
  if (const char* data = std::getenv("MDSM_DATA"); data && *data)
    folders.push_back(fs::path(data) / source.folder);
  folders.push_back(fs::path("data") / source.folder);
  folders.push_back(fs::path("/usr/share/datasets") / source.folder);
  if (const char* home = std::getenv("HOME"); home && *home)
    folders.push_back(fs::path(home) / ".cache/mdsm" / source.folder);
  return folders;
}

std::optional<fs::path> locate(const Source& source) {
  if (source.folder.empty() || !source.has_files()) return std::nullopt;
  for (const auto& folder : search_folders(source))
    if (source.recognises(folder)) return folder;
  return std::nullopt;
}

bool at_hand(const Source& source) { return !source.has_files() || locate(source); }

bool is_folder(const fs::path& path) {
  std::error_code error;
  return fs::is_directory(path, error);
}

bool ends_with(const fs::path& path, std::initializer_list<std::string_view> ends) {
  const std::string name = path.filename().string();
  return std::ranges::any_of(
      ends, [&](std::string_view end) { return name.size() > end.size() && name.ends_with(end); });
}

}  // namespace mdsm::data

#include "core/resources.h"

#include <dlfcn.h>

#include "core/error.h"

namespace mdsm {

fs::path program_path() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) fail("mount /proc", "the path of this program cannot be read: {}", error.message());
  return path;
}

namespace {

// Empty where this code is part of the program.
fs::path find_library() {
  static const char here = 0;
  Dl_info info{};
  std::error_code error;
  // The name of the program itself is the word it was started with, which need not be a path.
  if (dladdr(&here, &info) == 0 || !info.dli_fname ||
      fs::path(info.dli_fname).filename().string().find(".so") == std::string::npos)
    return {};
  const fs::path path = fs::canonical(info.dli_fname, error);
  return error ? fs::path() : path;
}

// Found when the library is loaded: a relative path means something else after the folder was changed.
const fs::path library_file = find_library();

}  // namespace

fs::path library_path() { return library_file.empty() ? program_path() : library_file; }

std::vector<fs::path> resource_folders() {
  const fs::path from = library_path().parent_path();
  std::vector<fs::path> folders = {(from / MDSM_DATA_FOLDER).lexically_normal()};
  const fs::path beside = from.parent_path() / "share/mdsm";  // of bin, and in a build folder
  if (folders.front() != beside) folders.push_back(beside);
  return folders;
}

std::optional<fs::path> find_resource(const fs::path& relative) {
  std::error_code error;
  for (const fs::path& folder : resource_folders())
    if (fs::exists(folder / relative, error)) return folder / relative;
  return std::nullopt;
}

}  // namespace mdsm

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

fs::path library_path() {
  static const char here = 0;
  Dl_info info{};
  std::error_code error;
  // The name of the program itself is the word it was started with, which need not be a path.
  if (dladdr(&here, &info) != 0 && info.dli_fname &&
      fs::path(info.dli_fname).filename().string().find(".so") != std::string::npos)
    if (const fs::path path = fs::canonical(info.dli_fname, error); !error) return path;
  return program_path();
}

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

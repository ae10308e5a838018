#include "core/resources.h"

#include "core/error.h"

namespace mdsm {

fs::path program_path() {
  std::error_code error;
  const fs::path path = fs::read_symlink("/proc/self/exe", error);
  if (error) fail("mount /proc", "the path of this program cannot be read: {}", error.message());
  return path;
}

std::vector<fs::path> resource_folders() {
  const fs::path home = program_path().parent_path().parent_path();  // of bin/
  // build/bin and build/<preset>/bin inside the sources
  return {home / "share/mdsm", home, home.parent_path(), home.parent_path().parent_path()};
}

std::optional<fs::path> find_resource(const fs::path& relative) {
  std::error_code error;
  for (const fs::path& folder : resource_folders())
    if (fs::exists(folder / relative, error)) return folder / relative;
  return std::nullopt;
}

}  // namespace mdsm

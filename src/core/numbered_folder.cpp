#include "core/numbered_folder.h"

#include <algorithm>
#include <vector>

#include "core/error.h"

namespace mdsm {

fs::path numbered_folder(const fs::path& path) {
  std::error_code error;
  const std::string number = path.filename().string();
  const bool digits =
      !number.empty() && std::ranges::all_of(number, [](char c) { return c >= '0' && c <= '9'; });
  if (!digits || fs::exists(path, error)) return path;
  const fs::path folder = path.has_parent_path() ? path.parent_path() : fs::path(".");
  std::vector<std::string> found;
  for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
    if (const std::string name = it->path().filename().string();
        name.starts_with(number + "-") && it->is_directory(error))
      found.push_back(name);
  std::ranges::sort(found);
  if (found.size() > 1)
    fail("write more of its name", "{}: several folders have this number: {}", path.string(),
         fmt::join(found, ", "));
  return found.empty() ? path : path.parent_path() / found[0];
}

}  // namespace mdsm

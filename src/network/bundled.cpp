#include "network/bundled.h"

#include <cstdlib>
#include <set>

#include "core/resources.h"

namespace mdsm::network {

std::vector<fs::path> bundled_folders() {
  if (const char* named = std::getenv("MDSM_MODELS"); named && *named) return {named};
  std::vector<fs::path> folders = resource_folders();
  for (fs::path& folder : folders) folder /= "models";
  return folders;
}

std::optional<fs::path> find_bundled(const std::string& name) {
  std::error_code error;
  if (name.empty() || name.find('/') != std::string::npos) return std::nullopt;
  for (const fs::path& folder : bundled_folders())
    if (const fs::path path = folder / (name + ".safetensors"); fs::is_regular_file(path, error)) return path;
  return std::nullopt;
}

std::vector<std::string> list_bundled() {
  std::set<std::string> names;
  std::error_code error;
  for (const fs::path& folder : bundled_folders())
    for (fs::directory_iterator it(folder, error), end; !error && it != end; it.increment(error))
      if (it->path().extension() == ".safetensors") names.insert(it->path().stem().string());
  return {names.begin(), names.end()};
}

std::vector<std::string> list_bundled_models() {
  std::vector<std::string> names = list_bundled();
  std::erase_if(names, [](const std::string& name) {
    return name.starts_with(kClassifierPrefix) || name.starts_with(kGuidePrefix);
  });
  return names;
}

}  // namespace mdsm::network

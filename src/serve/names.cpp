#include "serve/names.h"

#include <algorithm>

namespace mdsm::serve {

bool is_plain_name(std::string_view name) {
  constexpr size_t kLongest = 120;
  const auto plain = [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '.' ||
           c == '-' || c == '_';
  };
  return !name.empty() && name.size() <= kLongest && name[0] != '.' && name[0] != '-' &&
         std::ranges::all_of(name, plain);
}

std::vector<std::string> plain_parts(std::string_view path) {
  constexpr size_t kDeepest = 8;
  std::vector<std::string> parts;
  for (size_t first = 0; first <= path.size();) {
    const size_t end = std::min(path.find('/', first), path.size());
    const std::string_view part = path.substr(first, end - first);
    if (!is_plain_name(part) || parts.size() == kDeepest) return {};
    parts.emplace_back(part);
    first = end + 1;
  }
  return parts;
}

std::optional<fs::path> inside(const fs::path& folder, std::string_view path) {
  std::error_code error;
  fs::path named = folder;
  const std::vector<std::string> parts = plain_parts(path);
  if (parts.empty()) return std::nullopt;
  for (const std::string& part : parts) named /= part;
  const fs::path root = fs::canonical(folder, error), found = error ? root : fs::canonical(named, error);
  if (error) return std::nullopt;
  const bool within = std::mismatch(root.begin(), root.end(), found.begin(), found.end()).first == root.end();
  return within ? std::optional(named) : std::nullopt;
}

}  // namespace mdsm::serve

#include "serve/assets.h"

#include <algorithm>
#include <array>
#include <span>

namespace mdsm::serve {

std::span<const Asset> embedded_assets();  // of the file that CMake makes (embed.cmake)

const Asset* find_asset(std::string_view name) {
  const auto all = embedded_assets();
  const auto found = std::ranges::find(all, name, &Asset::name);
  return found == all.end() ? nullptr : &*found;
}

std::string_view content_type(std::string_view name) {
  constexpr std::array<std::array<std::string_view, 2>, 7> kTypes = {
      {{".html", "text/html; charset=utf-8"},
       {".css", "text/css; charset=utf-8"},
       {".js", "text/javascript; charset=utf-8"},
       {".json", "application/json"},
       {".png", "image/png"},
       {".svg", "image/svg+xml"},
       {".txt", "text/plain; charset=utf-8"}}};
  for (const auto& [ending, type] : kTypes)
    if (name.ends_with(ending)) return type;
  return "application/octet-stream";
}

}  // namespace mdsm::serve

#include "core/nearest.h"

#include <algorithm>
#include <numeric>
#include <vector>

namespace mdsm {
namespace {

size_t edit_distance(std::string_view a, std::string_view b) {
  std::vector<size_t> row(b.size() + 1);
  std::iota(row.begin(), row.end(), size_t{0});
  for (size_t i = 1; i <= a.size(); ++i) {
    size_t diagonal = row[0];
    row[0] = i;
    for (size_t j = 1; j <= b.size(); ++j) {
      const size_t change = diagonal + (a[i - 1] != b[j - 1]);
      diagonal = row[j];
      row[j] = std::min({row[j] + 1, row[j - 1] + 1, change});
    }
  }
  return row[b.size()];
}

}  // namespace

std::string nearest_name(std::string_view word, std::span<const std::string> names) {
  constexpr size_t kTooFar = 3;
  std::string nearest;
  size_t best = kTooFar;
  for (const std::string& name : names)
    if (const size_t distance = edit_distance(word, name); distance < best) {
      best = distance;
      nearest = name;
    }
  return nearest;
}

}  // namespace mdsm

#include "core/seeds.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/error.h"

namespace mdsm {
namespace {

constexpr uint64_t kMaxSeed = 9'000'000'000'000'000;  // whole in a JSON number, too
constexpr size_t kMaxCount = 10'000'000;
constexpr const char* kHint = "write numbers and ranges, as in 0-63,70";

uint64_t parse_number(std::string_view word, const std::string& text, const std::string& option) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc() || end != word.data() + word.size() || value > kMaxSeed)
    fail_usage(kHint, "{}: '{}' is not a list of seeds", option, text);
  return value;
}

void add_range(std::string_view word, const std::string& text, const std::string& option,
               std::vector<uint64_t>& seeds) {
  const size_t dash = word.find('-');
  const uint64_t first = parse_number(word.substr(0, dash), text, option);
  const uint64_t last =
      dash == std::string_view::npos ? first : parse_number(word.substr(dash + 1), text, option);
  if (last < first) fail_usage(kHint, "{}: the range '{}' runs backwards", option, word);
  if (last - first >= kMaxCount - seeds.size())
    fail_usage("draw them in several calls", "{}: '{}' are more than {} seeds", option, text, kMaxCount);
  for (uint64_t seed = first; seed <= last; ++seed) seeds.push_back(seed);
}

}  // namespace

std::vector<uint64_t> parse_seeds(const std::string& text, const std::string& option) {
  std::vector<uint64_t> seeds;
  std::string_view rest = text;
  while (true) {
    const size_t comma = rest.find(',');
    add_range(rest.substr(0, comma), text, option, seeds);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  std::vector<uint64_t> sorted = seeds;
  std::ranges::sort(sorted);
  if (const auto twice = std::ranges::adjacent_find(sorted); twice != sorted.end())
    fail_usage("a seed gives one image; name each once", "{}: seed {} is given twice", option, *twice);
  return seeds;
}

std::string seeds_text(std::span<const uint64_t> seeds) {
  std::string text;
  for (size_t i = 0; i < seeds.size();) {
    size_t end = i + 1;
    while (end < seeds.size() && seeds[end] == seeds[end - 1] + 1) ++end;
    if (!text.empty()) text += ',';
    text += end - i == 1 ? fmt::format("{}", seeds[i]) : fmt::format("{}-{}", seeds[i], seeds[end - 1]);
    i = end;
  }
  return text;
}

}  // namespace mdsm

#include "core/seeds.h"

#include <algorithm>
#include <charconv>
#include <string_view>

#include "core/error.h"

namespace mdsm {
namespace {

constexpr uint64_t kMaxSeed = 9'000'000'000'000'000;  // whole in a JSON number, too
constexpr uint64_t kMaxCount = 10'000'000;
constexpr const char* kHint = "write numbers and ranges, as in 0-63,70";

uint64_t parse_number(std::string_view word, const std::string& text, const std::string& option) {
  uint64_t value = 0;
  const auto [end, error] = std::from_chars(word.data(), word.data() + word.size(), value);
  if (word.empty() || error != std::errc() || end != word.data() + word.size() || value > kMaxSeed)
    fail_usage(kHint, "{}: '{}' is not a list of seeds", option, text);
  return value;
}

struct Range {
  uint64_t first = 0, last = 0;
  uint64_t count() const { return last - first + 1; }
};

Range parse_range(std::string_view word, const std::string& text, const std::string& option) {
  const size_t dash = word.find('-');
  const uint64_t first = parse_number(word.substr(0, dash), text, option);
  const uint64_t last =
      dash == std::string_view::npos ? first : parse_number(word.substr(dash + 1), text, option);
  if (last < first) fail_usage(kHint, "{}: the range '{}' runs backwards", option, word);
  return {first, last};
}

void check_different(std::vector<Range> ranges, const std::string& option) {
  std::ranges::sort(ranges, {}, &Range::first);
  for (size_t i = 1; i < ranges.size(); ++i)
    if (ranges[i].first <= ranges[i - 1].last)
      fail_usage("a seed gives one image; name each once", "{}: seed {} is given twice", option,
                 ranges[i].first);
}

}  // namespace

std::vector<uint64_t> parse_seeds(const std::string& text, const std::string& option) {
  std::vector<Range> ranges;
  uint64_t count = 0;
  std::string_view rest = text;
  while (true) {
    const size_t comma = rest.find(',');
    ranges.push_back(parse_range(rest.substr(0, comma), text, option));
    count += ranges.back().count();
    if (count > kMaxCount)
      fail_usage("draw them in several calls", "{}: '{}' are more than {} seeds", option, text, kMaxCount);
    if (comma == std::string_view::npos) break;
    rest.remove_prefix(comma + 1);
  }
  check_different(ranges, option);
  std::vector<uint64_t> seeds;
  seeds.reserve(count);
  for (const Range& range : ranges)
    for (uint64_t seed = range.first; seed <= range.last; ++seed) seeds.push_back(seed);
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

#include "core/json.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace mdsm {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 100;

// The parser itself could go deeper; copying, comparing and printing what it made recurse.
bool too_deep(std::string_view text, bool with_comments) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (with_comments && !quoted && c == '/') {  // what stands in a comment, quotes among it, does not count
      const bool line = text.substr(i, 2) == "//", block = text.substr(i, 2) == "/*";
      constexpr std::string_view kEnds("\n\r\0", 3);  // of a line, as the parser sees it
      const size_t end = line ? text.find_first_of(kEnds, i) : block ? text.find("*/", i + 2) : i;
      if (end == std::string_view::npos) return false;
      i = block ? end + 1 : end;
    } else if (quoted) {
      if (c == '\\') ++i;
      if (c == '"') quoted = false;
    } else if (c == '"') {
      quoted = true;
    } else if (c == '[' || c == '{') {
      if (++depth > kMaxDepth) return true;
    } else if (c == ']' || c == '}') {
      --depth;
    }
  }
  return false;
}

// In a message: no longer than a line bears.
std::string shortened(const std::string& text) {
  return text.size() > 40 ? text.substr(0, 40) + "..." : text;
}

std::string shown(const json& value) { return shortened(json_text(value)); }

[[noreturn]] void refuse(const json& value, const char* wanted) {
  throw JsonError(fmt::format("{}, not {}", shown(value), wanted));
}

// Goes through a text and refuses keys that an object has twice, of which JSON silently keeps the last, and
// long lists. A way of its own, as the parser's callback takes a time that grows with the square of an
// object's size.
class Watch : public nlohmann::json_sax<json> {
 public:
  explicit Watch(size_t longest_list) : longest_list_(longest_list) {}

  bool null() override { return value(); }
  bool boolean(bool) override { return value(); }
  bool number_integer(number_integer_t) override { return value(); }
  bool number_unsigned(number_unsigned_t) override { return value(); }
  bool number_float(number_float_t, const string_t&) override { return value(); }
  bool string(string_t&) override { return value(); }
  bool binary(binary_t&) override { return value(); }
  bool start_object(size_t) override { return begin(true); }
  bool start_array(size_t) override { return begin(false); }
  bool end_object() override { return end(); }
  bool end_array() override { return end(); }
  bool key(string_t& name) override {
    if (!levels_.back().keys.insert(name).second)
      throw JsonError(fmt::format("names '{}' twice", shortened(name)));
    return true;
  }
  bool parse_error(size_t, const std::string&, const json::exception&) override { return false; }

 private:
  struct Level {
    bool object = false;
    size_t values = 0;  // of a list
    std::set<std::string> keys;
  };

  bool value() {
    if (!levels_.empty() && !levels_.back().object && ++levels_.back().values > longest_list_)
      throw JsonError(fmt::format("has a list of more than {} values", longest_list_));
    return true;
  }
  bool begin(bool object) {
    value();
    levels_.push_back({object, 0, {}});
    return true;
  }
  bool end() {
    levels_.pop_back();
    return true;
  }

  size_t longest_list_;
  std::vector<Level> levels_;
};

}  // namespace

bool nests_too_deeply(std::string_view text) { return too_deep(text, false); }

json parse_json(std::string_view text, bool with_comments) {
  if (too_deep(text, with_comments)) return json(json::value_t::discarded);
  return json::parse(text, nullptr, false, with_comments);
}

json parse_strict_json(std::string_view text, size_t longest_list) {
  if (nests_too_deeply(text)) throw JsonError("nested too deeply");
  Watch watch(longest_list);
  if (!json::sax_parse(text, &watch)) return json(json::value_t::discarded);
  return json::parse(text, nullptr, false);
}

json number_or_null(double value) { return std::isfinite(value) ? json(value) : json(); }

std::string json_text(const json& values, int indent) {
  return values.dump(indent, ' ', false, json::error_handler_t::replace);
}

bool is_utf8(const std::string& text) {
  try {
    return !json(text).dump().empty();
  } catch (const json::type_error&) {
    return false;
  }
}

namespace json_detail {

int64_t signed_integer(const json& value, int64_t low, int64_t high) {
  int64_t found = 0;
  if (value.is_number_unsigned()) {
    if (value.get<uint64_t>() > static_cast<uint64_t>(INT64_MAX)) refuse(value, "an integer of that range");
    found = static_cast<int64_t>(value.get<uint64_t>());
  } else if (value.is_number_integer()) {
    found = value.get<int64_t>();
  } else {
    // 16.0 is an integer too; beyond 2^53 a double is none that anybody wrote down.
    const double real = value.is_number_float() ? value.get<double>() : NAN;
    if (!(std::abs(real) <= 9007199254740992.0) || real != std::floor(real)) refuse(value, "an integer");
    found = static_cast<int64_t>(real);
  }
  if (found < low || found > high) refuse(value, "an integer of that range");
  return found;
}

uint64_t unsigned_integer(const json& value, uint64_t high) {
  const uint64_t found = value.is_number_unsigned()
                             ? value.get<uint64_t>()
                             : static_cast<uint64_t>(signed_integer(value, 0, INT64_MAX));
  if (found > high) refuse(value, "an integer of that range");
  return found;
}

double number(const json& value) {
  if (!value.is_number()) refuse(value, "a number");
  return value.get<double>();
}

float small_number(const json& value) {
  const double found = number(value);
  if (std::abs(found) > std::numeric_limits<float>::max()) refuse(value, "a number of that range");
  return static_cast<float>(found);
}

std::string text(const json& value) {
  if (!value.is_string()) refuse(value, "a text");
  return value.get<std::string>();
}

const json& list(const json& value) {
  if (!value.is_array()) refuse(value, "a list");
  return value;
}

}  // namespace json_detail

JsonObject::JsonObject(json values, Damaged damaged)
    : values_(std::move(values)), damaged_(std::move(damaged)) {
  if (!values_.is_object()) fail("not a JSON object");
}

const json& JsonObject::at(const char* key) const {
  const auto found = values_.find(key);
  if (found == values_.end()) fail(fmt::format("'{}' is missing", key));
  return *found;
}

std::vector<float> JsonObject::floats_or_nan(const char* key) const {
  std::vector<float> values;
  try {
    for (const json& value : json_detail::list(at(key)))
      values.push_back(value.is_null() ? std::numeric_limits<float>::quiet_NaN() : json_value<float>(value));
  } catch (const JsonError& error) {
    fail_at(key, error);
  }
  return values;
}

void JsonObject::fail(const std::string& what) const {
  damaged_(what);
  throw JsonError(what);
}

void JsonObject::fail_at(const char* key, const JsonError& error) const {
  fail(fmt::format("'{}' is {}", key, error.what()));
}

}  // namespace mdsm

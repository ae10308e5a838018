#include "core/json.h"

#include <fmt/format.h>

#include <cmath>
#include <set>

namespace mdsm {
namespace {

using nlohmann::json;

constexpr int kMaxDepth = 100;

// The parser itself could go deeper; copying, comparing and printing what it made recurse.
bool too_deep(std::string_view text) {
  int depth = 0;
  bool quoted = false;
  for (size_t i = 0; i < text.size(); ++i) {
    const char c = text[i];
    if (quoted) {
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
std::string shown(const json& value) {
  std::string text = json_text(value);
  if (text.size() > 40) text = text.substr(0, 40) + "...";
  return text;
}

[[noreturn]] void refuse(const json& value, const char* wanted) {
  throw JsonError(fmt::format("{}, not {}", shown(value), wanted));
}

}  // namespace

json parse_json(std::string_view text, bool with_comments) {
  if (too_deep(text)) return json(json::value_t::discarded);
  return json::parse(text, nullptr, false, with_comments);
}

// A JSON object silently keeps the last of two equal keys, so they are watched for while parsing.
json parse_strict_json(std::string_view text, size_t longest_list) {
  if (too_deep(text)) throw JsonError("nested too deeply");
  struct Level {
    std::set<std::string> keys;
    size_t values = 0;
  };
  std::vector<Level> levels(1);
  const auto watch = [&](int, json::parse_event_t event, json& parsed) {
    using Event = json::parse_event_t;
    if (event == Event::object_end || event == Event::array_end) levels.pop_back();
    const bool begins = event == Event::array_start || event == Event::object_start;
    Level& level = levels.back();
    if ((event == Event::value || begins) && levels.size() > 1 && level.keys.empty() &&
        ++level.values > longest_list)
      throw JsonError(fmt::format("has a list of more than {} values", longest_list));
    if (event == Event::key && !levels.back().keys.insert(parsed.get<std::string>()).second)
      throw JsonError(fmt::format("names '{}' twice", parsed.get<std::string>()));
    if (begins) levels.emplace_back();
    return true;
  };
  return json::parse(text, watch, false);
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

#include "core/toml.h"

#include <toml++/toml.h>
#include <cctype>

#include "core/error.h"

namespace mdsm {
namespace {

using nlohmann::json;

constexpr int kMaxDots = 8;  // of one key

// The place after the string that begins at `at`, with one quote or three.
size_t end_of_string(std::string_view text, size_t at) {
  const char quote = text[at];
  const std::string three(3, quote);
  const bool long_one = text.substr(at, 3) == three;
  for (at += long_one ? 3 : 1; at < text.size(); ++at) {
    if (quote == '"' && text[at] == '\\')
      ++at;
    else if (long_one ? text.substr(at, 3) == three : text[at] == quote)
      return at + (long_one ? 3 : 1);
    else if (!long_one && text[at] == '\n')
      return at;  // broken; the parser will say so
  }
  return text.size();
}

// toml++ limits how deeply values nest, but not keys with dots, and whatever walks the tables recurses.
bool has_endless_key(std::string_view text) {
  int dots = 0;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '"' || c == '\'') {
      at = end_of_string(text, at);
      continue;
    }
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (c == '.') {
      if (++dots > kMaxDots) return true;
    } else if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '-' && c != ' ' &&
               c != '\t') {
      dots = 0;
    }
    ++at;
  }
  return false;
}

json to_json(const toml::node& node, const std::string& where) {
  if (const auto* v = node.as_string()) return v->get();
  if (const auto* v = node.as_integer()) return v->get();
  if (const auto* v = node.as_floating_point()) return v->get();
  if (const auto* v = node.as_boolean()) return v->get();
  if (const auto* list = node.as_array()) {
    json values = json::array();
    for (const auto& item : *list) values.push_back(to_json(item, where));
    return values;
  }
  if (const auto* table = node.as_table()) {
    json values = json::object();
    for (const auto& [key, item] : *table) values[std::string(key.str())] = to_json(item, where);
    return values;
  }
  fail_usage("use text, numbers, true/false or lists", "{}: a value of a kind that no option takes", where);
}

}  // namespace

json parse_toml(const std::string& text, const std::string& where) {
  if (has_endless_key(text)) fail_usage("use one level of sections", "{}: a key of many dotted parts", where);
  try {
    return to_json(toml::parse(text), where);
  } catch (const toml::parse_error& error) {
    fail_usage("correct the file", "{}: line {}: {}", where, error.source().begin.line, error.description());
  }
}

}  // namespace mdsm

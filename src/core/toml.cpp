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

bool is_key_character(char c) { return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '-'; }

bool is_blank(char c) { return c == ' ' || c == '\t'; }

// Whether the section that begins at `at` has a name, as toml++ takes for granted.
bool is_named(std::string_view text, size_t at) {
  const auto skip_blanks = [&] {
    while (at < text.size() && is_blank(text[at])) ++at;
  };
  if (text.substr(++at, 1) == "[") ++at;
  skip_blanks();
  return at == text.size() || text[at] == ']' || text[at] == '"' || text[at] == '\'' ||
         is_key_character(text[at]);
}

// What toml++ is not up to: it limits how deeply values nest, but not keys with dots, and whatever walks the
// tables recurses; a section must have a name, and some letters outside of texts are undefined behaviour.
const char* problem_of(std::string_view text) {
  constexpr std::string_view kMark = "\xef\xbb\xbf";  // a byte order mark may stand at the beginning
  if (text.starts_with(kMark)) text.remove_prefix(kMark.size());
  int dots = 0, open = 0;
  bool line_begins = true;
  for (size_t at = 0; at < text.size();) {
    const char c = text[at];
    if (c == '#') {
      at = std::min(text.find('\n', at), text.size());
      continue;
    }
    if (static_cast<unsigned char>(c) >= 0x80) return "a letter that only a quoted text may have";
    if (c == '[' && line_begins && open == 0 && !is_named(text, at)) return "a section without a name";
    open += c == '[' || c == '{' ? 1 : c == ']' || c == '}' ? -1 : 0;
    line_begins = c == '\n' || (line_begins && is_blank(c));
    if (c == '"' || c == '\'') {
      constexpr std::string_view kBefore = " \t\r\n=,[{.";
      if (at > 0 && kBefore.find(text[at - 1]) == std::string_view::npos)
        return "a quote in the middle of a word";
      at = end_of_string(text, at);
      continue;
    }
    if (c == '.') {
      if (++dots > kMaxDots) return "a key of many dotted parts";
    } else if (!is_key_character(c) && !is_blank(c)) {
      dots = 0;
    }
    ++at;
  }
  return nullptr;
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
  if (const char* problem = problem_of(text))
    fail_usage("use [section] and key = value", "{}: {}", where, problem);
  try {
    return to_json(toml::parse(text), where);
  } catch (const toml::parse_error& error) {
    fail_usage("write key = value; numbers plain, texts in quotes, lists in brackets",
               "{}: line {} cannot be read as TOML", where, error.source().begin.line);
  }
}

}  // namespace mdsm

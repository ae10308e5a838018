#include "cli/words.h"

#include <algorithm>
#include <cctype>

#include "app/features.h"
#include "app/model_use.h"
#include "data/sources.h"

namespace mdsm::cli {
namespace {

void add(std::vector<std::string>& to, const std::vector<std::string>& more) {
  for (const std::string& word : more)
    if (std::ranges::count(to, word) == 0) to.push_back(word);
}

std::vector<std::string> split(const std::string& text, char at) {
  std::vector<std::string> parts(1);
  for (const char c : text) {
    if (c == at)
      parts.emplace_back();
    else
      parts.back() += c;
  }
  return parts;
}

bool is_word(const std::string& text) {
  return !text.empty() && std::ranges::all_of(text, [](char c) {
    return std::islower(static_cast<unsigned char>(c)) || std::isdigit(static_cast<unsigned char>(c)) ||
           c == '-';
  });
}

// One of the parts of "exp|linear|FILE".
void add_part(ValueWords& to, const std::string& part) {
  const std::string name = part.substr(0, part.find('.'));
  if (is_word(part)) return add(to.words, {part});
  if (name == "FOLDER" || name == "RUN") to.folders = true;
  if (name == "FILE" || name == "STATE_DICT" || name == "IMAGES" || name == "SAMPLES" || name == "PROGRAM" ||
      name == "KERNEL" || part.find("MODEL.") == 0)
    to.files = true;
  if (part == "MODEL") to.files = true, add(to.words, app::bundled_models());
  if (part == "CLASSIFIER") to.files = true, add(to.words, app::bundled_classifiers());
  if (part == "SOURCE") to.files = true, add(to.words, data::sources().names());
  if (part == "DEVICE") add(to.words, {"cpu", "cuda"});
}

}  // namespace

CommandWords words_of(const OptionSet& options) {
  return {options.command(), options.summary(), options.usage_line(), options.words(), options.examples()};
}

ValueWords value_words(const OptionWords& option) {
  ValueWords values;
  if (!option.choices.empty())
    values.words = option.choices;
  else
    for (const std::string& part : split(option.meta, '|')) add_part(values, part);
  return values;
}

ValueWords place_words(const CommandWords& command) {
  ValueWords all;
  for (const OptionWords& option : command.options) {
    if (!option.positional) continue;
    const ValueWords one = value_words(option);
    add(all.words, one.words);
    all.files = all.files || one.files;
    all.folders = all.folders || one.folders;
  }
  return all;
}

std::string brief(const std::string& help) {
  constexpr size_t kLongest = 72;
  if (help.size() <= kLongest) return help;
  if (const size_t end = help.find(';'); end != std::string::npos && end <= kLongest)
    return help.substr(0, end);
  return help.substr(0, help.rfind(' ', kLongest - 3)) + "...";
}

}  // namespace mdsm::cli

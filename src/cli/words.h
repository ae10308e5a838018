// Commands and options as words, for completions and man pages: all of it from the options as they are
// declared.
#pragma once

#include <string>
#include <vector>

#include "core/options.h"

namespace mdsm::cli {

struct CommandWords {
  std::string name, summary, usage;
  std::vector<OptionWords> options;
  std::vector<std::string> examples;
};
CommandWords words_of(const OptionSet& options);

// What may stand for the value of an option: these words, and files or folders where it takes them.
struct ValueWords {
  std::vector<std::string> words;
  bool files = false, folders = false;

  bool any() const { return files || folders || !words.empty(); }
};
// From its choices or from the word for its value in help: FILE, FOLDER, MODEL, SOURCE, exp|linear|FILE.
ValueWords value_words(const OptionWords& option);
// Of all that is given by place.
ValueWords place_words(const CommandWords& command);

// The meaning of an option in one short line.
std::string brief(const std::string& help);

}  // namespace mdsm::cli

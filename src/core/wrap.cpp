#include "core/wrap.h"

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <cstdlib>

namespace mdsm {
namespace {

// Characters of UTF-8, not bytes.
size_t length_of(const std::string& word) {
  return static_cast<size_t>(
      std::ranges::count_if(word, [](char c) { return (static_cast<unsigned char>(c) & 0xc0) != 0x80; }));
}

}  // namespace

size_t terminal_columns() {
  if (const char* const given = std::getenv("COLUMNS"))
    if (const long columns = std::strtol(given, nullptr, 10); columns > 0)
      return static_cast<size_t>(columns);
  for (const int stream : {STDOUT_FILENO, STDERR_FILENO})
    if (winsize size{}; ::ioctl(stream, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) return size.ws_col;
  return 0;
}

std::string wrapped(const std::string& text, size_t columns, size_t indent, size_t used) {
  if (columns == 0) return text;
  std::string lines;
  size_t at = used, from = 0;
  bool first = true;  // of its line
  while (from < text.size()) {
    size_t to = from;
    while (to < text.size() && text[to] == ' ') ++to;
    to = std::min(text.find(' ', to), text.size());
    std::string word = text.substr(from, to - from);
    if (const size_t length = length_of(word); !first && at + length > columns) {
      word.erase(0, word.find_first_not_of(' '));
      lines += "\n" + std::string(indent, ' ');
      at = indent + length_of(word);
    } else {
      at += length;
    }
    lines += word;
    first = false;
    from = to;
  }
  return lines;
}

}  // namespace mdsm

// Lines for people: to standard error, and to a run's log.txt while one is open. Printf-like through fmt.
#pragma once

#include <fmt/format.h>

#include <string>
#include <utility>

#include "core/files.h"

namespace mdsm {

enum class LogLevel { info, warning };

void log_line(LogLevel level, const std::string& text);

template <class... Args>
void log_info(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::info, fmt::format(format, std::forward<Args>(args)...));
}
template <class... Args>
void log_warning(fmt::format_string<Args...> format, Args&&... args) {
  log_line(LogLevel::warning, fmt::format(format, std::forward<Args>(args)...));
}

// While it lives, every line also goes to the file (appended, with date and time).
class LogFile {
 public:
  explicit LogFile(const fs::path& path);
  ~LogFile();
  LogFile(const LogFile&) = delete;
  LogFile& operator=(const LogFile&) = delete;
};

void set_quiet(bool quiet);  // keeps info lines off standard error; warnings still show

}  // namespace mdsm

// The one exception of the project: what happened (with the offending value in the text) and what to do about
// it. It is caught once, in main, which prints it as one line and exits with 1 (failure) or 2 (wrong usage).
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <utility>

namespace mdsm {

enum class ErrorKind { failure, usage };

class Error : public std::runtime_error {
 public:
  Error(ErrorKind kind, std::string message, std::string hint = "")
      : std::runtime_error(hint.empty() ? message : message + "; " + hint),
        kind_(kind),
        message_(std::move(message)),
        hint_(std::move(hint)) {}

  ErrorKind kind() const { return kind_; }
  const std::string& message() const { return message_; }
  const std::string& hint() const { return hint_; }

 private:
  ErrorKind kind_;
  std::string message_;
  std::string hint_;
};

// Something went wrong while doing what was asked: fail("use another file", "{}: not a PNG file", path).
template <class... Args>
[[noreturn]] void fail(std::string hint, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::failure, fmt::format(format, std::forward<Args>(args)...), std::move(hint));
}

// What was asked makes no sense: a wrong option, value or combination.
template <class... Args>
[[noreturn]] void fail_usage(std::string hint, fmt::format_string<Args...> format, Args&&... args) {
  throw Error(ErrorKind::usage, fmt::format(format, std::forward<Args>(args)...), std::move(hint));
}

}  // namespace mdsm

// The one exception of the project: what happened (with the offending value in the text) and what to do about
// it. It is caught once, in main, which prints it as one line and exits with 1 (failure) or 2 (wrong usage).
#pragma once

#include <fmt/format.h>

#include <mdsm/error.h>
#include <string>
#include <utility>

namespace mdsm {

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

// What every function of the library throws: what happened (with the offending value in the text) and what to
// do about it. Memory that runs out may also be a std::bad_alloc.
#pragma once

#include <stdexcept>
#include <string>
#include <utility>

namespace mdsm {

enum class ErrorKind {
  failure,  // of what was asked
  usage     // what was asked makes no sense
};

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

// A progress function (progress.h) asked to stop.
class Cancelled : public Error {
 public:
  explicit Cancelled(std::string message) : Error(ErrorKind::failure, std::move(message)) {}
};

}  // namespace mdsm

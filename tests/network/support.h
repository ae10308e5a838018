// Helpers of the tests in this folder: a scratch folder, and errors compared by their text.
#pragma once

#include <gtest/gtest.h>
#include <unistd.h>

#include <cstring>
#include <string>

#include "core/error.h"
#include "core/files.h"
#include "network/parameters.h"

namespace mdsm::network {

class ScratchFolder {
 public:
  ScratchFolder() {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    path_ = fs::temp_directory_path() /
            fmt::format("mdsm_{}_{}_{}", test->test_suite_name(), test->name(), ::getpid());
    fs::remove_all(path_);
    fs::create_directories(path_);
  }
  ~ScratchFolder() { fs::remove_all(path_); }
  fs::path operator/(const std::string& name) const { return path_ / name; }
  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

// Runs body and returns the text of the Error it throws; fails the test when it throws none.
template <class Body>
std::string error_of(Body&& body) {
  try {
    body();
  } catch (const Error& error) {
    return error.what();
  }
  ADD_FAILURE() << "no error was thrown";
  return "";
}

#define EXPECT_ERROR(statement, part) \
  EXPECT_PRED_FORMAT2(::testing::IsSubstring, part, ::mdsm::error_of([&] { statement; }))

inline Spec small_spec(Network network = Network::res6, Head head = Head::quadratic, int64_t channels = 1) {
  return {.network = network, .width = 4, .channels = channels, .size = 16, .head = head, .sigma0 = 0.1};
}

template <class T>
std::string raw(T value) {
  return {reinterpret_cast<const char*>(&value), sizeof value};
}

}  // namespace mdsm::network

#include "engine/torch/c10d_threads.h"

#include <cxxabi.h>
#include <fmt/format.h>
#include <unistd.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <string>
#include <string_view>
#include <thread>
#include <typeinfo>

namespace mdsm::engine {
namespace {

// The rest of the process may be ending already, by an error that says more.
constexpr std::chrono::seconds kTimeForOthers{3};

int g_rank = 0;
std::terminate_handler g_former = nullptr;

// By name: a LibTorch may keep Gloo, and with it these types, to itself.
bool is_thrown_by_gloo() {
  const std::type_info* const type = abi::__cxa_current_exception_type();
  return type && std::string_view(type->name()).starts_with("N4gloo");
}

std::string first_line_of_exception() {
  try {
    std::rethrow_exception(std::current_exception());
  } catch (const std::exception& error) {
    const std::string_view text = error.what();
    return std::string(text.substr(0, text.find('\n')));
  } catch (...) {
    return "unknown error";
  }
}

[[noreturn]] void end_with_a_line() {
  const std::string what = first_line_of_exception();
  std::this_thread::sleep_for(kTimeForOthers);
  std::fputs(
      fmt::format(
          "mdsm: error: {}a connection to another rank broke: {}; look at what the other ranks say; a run "
          "goes on from its last checkpoint\n",
          g_rank > 0 ? fmt::format("(rank {}) ", g_rank) : "", what)
          .c_str(),
      stderr);
  std::fflush(nullptr);
  ::_exit(1);
}

[[noreturn]] void on_terminate() {
  if (is_thrown_by_gloo()) end_with_a_line();
  if (g_former) g_former();
  std::abort();
}

}  // namespace

void report_errors_of_threads(int rank) {
  g_rank = rank;
  if (const std::terminate_handler former = std::set_terminate(on_terminate); former != on_terminate)
    g_former = former;
}

}  // namespace mdsm::engine

#include "cli/no_memory.h"

#include <dlfcn.h>
#include <ucontext.h>
#include <unistd.h>

#include <atomic>
#include <csignal>
#include <cstdlib>
#include <cstring>
#include <exception>
#include <new>

#include "core/progress.h"

namespace mdsm::cli {
namespace {

constexpr char kOutOfMemory[] =
    "mdsm: error: out of memory; use a smaller batch, --micro-batch or a narrower network\n";
constexpr char kOutOfMemoryInOneDnn[] =
    "mdsm: error: out of memory inside oneDNN; use a smaller batch, --micro-batch or a narrower network\n";

std::atomic<bool> g_allocation_failed = false;
std::terminate_handler g_former_terminate = nullptr;
struct sigaction g_former_fault;

void on_failed_allocation() {
  g_allocation_failed = true;
  throw std::bad_alloc();
}

// A std::bad_alloc that meets noexcept, or that nobody catches.
void on_terminate() {
  if (!g_allocation_failed) g_former_terminate();
  print_out_of_memory();
  std::_Exit(1);
}

const void* program_counter(const void* context) {
  const auto& machine = static_cast<const ucontext_t*>(context)->uc_mcontext;
#if defined(__x86_64__)
  return reinterpret_cast<const void*>(machine.gregs[REG_RIP]);
#elif defined(__aarch64__)
  return reinterpret_cast<const void*>(machine.pc);
#else
  return static_cast<void>(machine), nullptr;
#endif
}

// oneDNN does not look whether it got the memory it asked for, and goes on with a null pointer. The
// instruction fails again after this, and the program ends as it would have.
void on_fault(int number, siginfo_t* info, void* context) {
  constexpr uintptr_t kNearNull = 1 << 16;
  sigaction(number, &g_former_fault, nullptr);
  Dl_info found = {};
  if (reinterpret_cast<uintptr_t>(info->si_addr) < kNearNull && dladdr(program_counter(context), &found) &&
      std::strstr(found.dli_fname, "libdnnl"))
    static_cast<void>(!::write(STDERR_FILENO, kOutOfMemoryInOneDnn, sizeof kOutOfMemoryInOneDnn - 1));
}

}  // namespace

void print_out_of_memory() {
  Progress::clear_line();
  std::fputs(kOutOfMemory, stderr);
}

void report_lack_of_memory() {
  std::set_new_handler(on_failed_allocation);
  g_former_terminate = std::set_terminate(on_terminate);
  struct sigaction action = {};
  action.sa_sigaction = on_fault;
  action.sa_flags = SA_SIGINFO;
  sigemptyset(&action.sa_mask);
  sigaction(SIGSEGV, &action, &g_former_fault);
}

}  // namespace mdsm::cli

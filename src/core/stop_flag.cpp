#include "core/stop_flag.h"

#include <csignal>

namespace mdsm {
namespace {

std::atomic<bool> g_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");
struct sigaction g_former[2];
constexpr int kSignals[2] = {SIGINT, SIGTERM};

void on_signal(int number) {
  if (!g_stop.exchange(true)) return;
  std::signal(number, SIG_DFL);
  std::raise(number);
}

}  // namespace

StopFlag::StopFlag() {
  g_stop = false;
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_flags = SA_RESTART;  // a write or a wait in progress goes on
  sigemptyset(&action.sa_mask);
  for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &action, &g_former[i]);
}

StopFlag::~StopFlag() {
  for (int i = 0; i < 2; ++i) sigaction(kSignals[i], &g_former[i], nullptr);
}

const std::atomic<bool>& StopFlag::flag() const { return g_stop; }

}  // namespace mdsm

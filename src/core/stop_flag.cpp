#include "core/stop_flag.h"

#include <csignal>
#include <iterator>

namespace mdsm {
namespace {

std::atomic<bool> g_stop{false};
static_assert(std::atomic<bool>::is_always_lock_free, "a signal handler may only touch lock-free atomics");
constexpr int kSignals[] = {SIGINT, SIGTERM, SIGHUP};
struct sigaction g_former[std::size(kSignals)];

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
  for (size_t i = 0; i < std::size(kSignals); ++i) {
    sigaction(kSignals[i], nullptr, &g_former[i]);
    const bool nohup = kSignals[i] == SIGHUP && g_former[i].sa_handler == SIG_IGN;
    if (!nohup) sigaction(kSignals[i], &action, nullptr);
  }
}

StopFlag::~StopFlag() {
  for (size_t i = 0; i < std::size(kSignals); ++i) sigaction(kSignals[i], &g_former[i], nullptr);
}

const std::atomic<bool>& StopFlag::flag() const { return g_stop; }
bool StopFlag::asked() { return g_stop; }

}  // namespace mdsm

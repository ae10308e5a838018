#include "engine/native/profile.h"

#include <algorithm>
#include <atomic>
#include <mutex>

namespace mdsm::engine {
namespace {

std::atomic<bool> g_profiling = false;
std::mutex g_mutex;
std::vector<LayerTime> g_times;

void add_time(const LayerTime& time) {
  const std::lock_guard lock(g_mutex);
  const auto found = std::find_if(g_times.begin(), g_times.end(), [&](const LayerTime& known) {
    return known.layer == time.layer && known.pass == time.pass;
  });
  if (found == g_times.end()) {
    g_times.push_back(time);
    return;
  }
  found->seconds += time.seconds;
  found->flop += time.flop;
  found->calls += time.calls;
}

}  // namespace

void native_profile_start() {
  const std::lock_guard lock(g_mutex);
  g_times.clear();
  g_profiling = true;
}

std::vector<LayerTime> native_profile_stop() {
  const std::lock_guard lock(g_mutex);
  g_profiling = false;
  return std::move(g_times);
}

bool native_profiling() { return g_profiling.load(std::memory_order_relaxed); }

ProfileScope::ProfileScope(const std::string& layer, Pass pass, double flop) {
  if (!native_profiling()) return;
  layer_ = layer;
  pass_ = pass;
  flop_ = flop;
  start_ = std::chrono::steady_clock::now();
}

ProfileScope::~ProfileScope() {
  if (!pass_) return;
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start_;
  add_time({std::move(layer_), *pass_, seconds.count(), flop_, 1});
}

}  // namespace mdsm::engine

#include "core/threads.h"

#include <algorithm>
#include <atomic>
#include <exception>
#include <thread>
#include <vector>

#ifdef MDSM_OPENMP
#include <omp.h>
#endif

namespace mdsm {
namespace {
std::atomic<int> g_threads = 0;
}

int hardware_threads() {
#ifdef MDSM_OPENMP
  static const int allowed = omp_get_max_threads();  // before set_thread_count() changes it
  return allowed;
#else
  return std::max(1u, std::thread::hardware_concurrency());
#endif
}

int thread_count() {
  const int threads = g_threads;
  return threads > 0 ? threads : hardware_threads();
}

void set_thread_count(int threads) {
  hardware_threads();
  g_threads = threads;
  apply_thread_count();
}

void apply_thread_count() {
#ifdef MDSM_OPENMP
  const int threads = thread_count();  // asks OpenMP for its default first
  omp_set_num_threads(threads);
#endif
}

void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body) {
  if (count <= 0) return;
  const int64_t parts = std::clamp<int64_t>(count / std::max<int64_t>(grain, 1), 1, thread_count());
  if (parts == 1) return body(0, count);
  std::vector<std::exception_ptr> errors(static_cast<size_t>(parts));
  const auto run = [&](int64_t part) {
    try {
      body(count * part / parts, count * (part + 1) / parts);
    } catch (...) {
      errors[static_cast<size_t>(part)] = std::current_exception();
    }
  };
#ifdef MDSM_OPENMP
#pragma omp parallel for num_threads(static_cast <int>(parts)) schedule(static, 1)
  for (int64_t part = 0; part < parts; ++part) run(part);
#else
  std::vector<std::thread> workers;
  for (int64_t part = 1; part < parts; ++part) workers.emplace_back(run, part);
  run(0);
  for (auto& worker : workers) worker.join();
#endif
  for (const auto& error : errors)
    if (error) std::rethrow_exception(error);
}

}  // namespace mdsm

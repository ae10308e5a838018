// Data-parallel loops for own kernels. They share OpenMP's threads with oneDNN; built with MDSM_OPENMP=OFF
// they run on plain std::thread instead, which the thread sanitizer understands.
#pragma once

#include <mdsm/threads.h>
#include <cstdint>
#include <functional>

namespace mdsm {

int hardware_threads();  // those this process may use: all cores, or OMP_NUM_THREADS
// OpenMP counts its threads for each thread that calls it. Call this before a library that uses OpenMP
// (oneDNN) in a thread that did not call set_thread_count() itself; parallel_for() does not need it.
void apply_thread_count();

// Calls body(begin, end) on disjoint ranges that cover 0 .. count-1, at most one range a thread, none shorter
// than grain unless it is the only one. The split depends on count, grain and thread_count() alone.
void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

}  // namespace mdsm

// Data-parallel loops on threads of the program's own: started at the first loop that needs them, kept to the
// end, asleep when there is nothing to do. docs/design/engine.md says how they wait.
#pragma once

#include <mdsm/threads.h>
#include <cstdint>
#include <functional>

namespace mdsm {

int hardware_threads();  // those this process may use: its share of the cores, or OMP_NUM_THREADS

// Calls body(begin, end) on disjoint ranges that cover 0 .. count-1, none shorter than grain unless it is the
// only one, at most kMostRanges of them. The ranges depend on count and grain alone. Which of thread_count()
// threads runs which range, and in what order, is left open: memory that ranges share belongs to the thread
// (thread_local), sums to the range. The caller takes part and waits for no thread that has not begun.
//
// Several threads may call this at the same time. Inside a loop it runs on the calling thread. All ranges are
// run even when one throws; the caller gets the exception of the first range that did.
inline constexpr int64_t kMostRanges = 64;
void parallel_for(int64_t count, int64_t grain, const std::function<void(int64_t, int64_t)>& body);

}  // namespace mdsm

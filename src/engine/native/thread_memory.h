// Working memory of the calling thread for the length of one kernel call: it grows to what was asked for most
// and is kept for the next.
#pragma once

#include <cstdint>

namespace mdsm::engine::native {

float* thread_memory(int64_t floats);  // 64-byte aligned; what it held before is gone

}  // namespace mdsm::engine::native

// How many threads the library computes with.
#pragma once

namespace mdsm {

int thread_count();
void set_thread_count(int threads);  // 0 = all; for the whole process

}  // namespace mdsm

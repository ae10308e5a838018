#define MDSM_PEAK_LANES 16
#define MDSM_PEAK_NAME(name) avx512_##name
#define MDSM_PEAK_REGISTER(v) "+v"(v)
#include "bench/peak_impl.h"

#define MDSM_PEAK_LANES 8
#define MDSM_PEAK_NAME(name) avx2_##name
#define MDSM_PEAK_REGISTER(v) "+x"(v)
#include "bench/peak_impl.h"

#define MDSM_PEAK_LANES 4
#define MDSM_PEAK_NAME(name) generic_##name
#ifdef __x86_64__
#define MDSM_PEAK_REGISTER(v) "+x"(v)
#elif defined(__aarch64__)
#define MDSM_PEAK_REGISTER(v) "+w"(v)
#else
#define MDSM_PEAK_REGISTER(v) "+m"(v)
#endif
#include "bench/peak_impl.h"

// The loop, compiled once per instruction set with MDSM_PEAK_LANES, _NAME and _REGISTER set: twelve chains of
// dependent multiply-adds, enough to cover the latency of two units, few enough for sixteen registers.
#include <stdint.h>

// Twelve variables instead of an array, which the compiler would keep in memory.
#define MDSM_PEAK_EACH(DO) DO(0) DO(1) DO(2) DO(3) DO(4) DO(5) DO(6) DO(7) DO(8) DO(9) DO(10) DO(11)
#define MDSM_PEAK_START(c) Vector sum##c = Vector{} + (1.0f + 0.01f * c);
// The empty assembly keeps every round: the compiler may not merge or skip any.
#define MDSM_PEAK_STEP(c)            \
  sum##c = sum##c * factor + addend; \
  asm volatile("" : MDSM_PEAK_REGISTER(sum##c));
#define MDSM_PEAK_TOTAL(c) total += sum##c;

namespace mdsm::bench {

extern const int MDSM_PEAK_NAME(lanes);
const int MDSM_PEAK_NAME(lanes) = MDSM_PEAK_LANES;

float MDSM_PEAK_NAME(fma_loop)(int64_t rounds);
float MDSM_PEAK_NAME(fma_loop)(int64_t rounds) {
  typedef float Vector __attribute__((vector_size(4 * MDSM_PEAK_LANES)));
  const Vector factor = Vector{} + 0.999f, addend = Vector{} + 0.001f;  // the sums tend to 1: no denormals
  MDSM_PEAK_EACH(MDSM_PEAK_START)
  for (int64_t i = 0; i < rounds; ++i) {
    MDSM_PEAK_EACH(MDSM_PEAK_STEP)
  }
  Vector total = Vector{};
  MDSM_PEAK_EACH(MDSM_PEAK_TOTAL)
  float value = 0;
  for (int lane = 0; lane < MDSM_PEAK_LANES; ++lane) value += total[lane];
  return value;
}

}  // namespace mdsm::bench

// The loop of the tile peak: products of bfloat16 tiles that stay in their registers.
#include "bench/peak.h"

#include <cstdint>
#include <vector>

namespace mdsm::bench {

// Six tiles of 16 x 16 sums, each of 32 products.
extern const double kTileRoundFlop;
const double kTileRoundFlop = 6 * 2.0 * 16 * 16 * 32;

float tile_loop(int64_t rounds);

#if defined(__x86_64__) && defined(__linux__)

// Six sums of their own a round cover the latency of the unit; tile 6 and 7 are the factors.
float tile_loop(int64_t rounds) {
  struct alignas(64) Shape {
    uint8_t palette = 1, start_row = 0, reserved[14] = {};
    uint16_t row_bytes[16] = {64, 64, 64, 64, 64, 64, 64, 64};
    uint8_t rows[16] = {16, 16, 16, 16, 16, 16, 16, 16};
  };
  const Shape shape;
  const std::vector<uint16_t> factor(16 * 32, 0x3c00);  // 1/128
  std::vector<float> sums(16 * 16);
  const int64_t step = 64;
  asm volatile("ldtilecfg %0" ::"m"(shape));
  asm volatile(
      "tilezero %%tmm0\n tilezero %%tmm1\n tilezero %%tmm2\n"
      "tilezero %%tmm3\n tilezero %%tmm4\n tilezero %%tmm5\n"
      "tileloadd (%0,%1,1), %%tmm6\n tileloadd (%0,%1,1), %%tmm7" ::"r"(factor.data()),
      "r"(step)
      : "memory");
  for (int64_t i = 0; i < rounds; ++i)
    asm volatile(
        "tdpbf16ps %%tmm7, %%tmm6, %%tmm0\n tdpbf16ps %%tmm7, %%tmm6, %%tmm1\n"
        "tdpbf16ps %%tmm7, %%tmm6, %%tmm2\n tdpbf16ps %%tmm7, %%tmm6, %%tmm3\n"
        "tdpbf16ps %%tmm7, %%tmm6, %%tmm4\n tdpbf16ps %%tmm7, %%tmm6, %%tmm5" ::);
  asm volatile("tilestored %%tmm5, (%0,%1,1)\n tilerelease" ::"r"(sums.data()), "r"(step) : "memory");
  return sums.back();
}

#else

float tile_loop(int64_t) { return 0; }

#endif

}  // namespace mdsm::bench

#include "bench/peak.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "core/error.h"
#include "core/isa.h"
#include "core/threads.h"
#include "engine/native/kernels.h"
#include "engine/native/tile_kernels.h"

namespace mdsm::bench {

#define MDSM_PEAK_VARIANT(name)  \
  extern const int name##_lanes; \
  float name##_fma_loop(int64_t rounds);
MDSM_PEAK_VARIANT(generic)
#ifdef __x86_64__
MDSM_PEAK_VARIANT(avx2)
MDSM_PEAK_VARIANT(avx512)
#endif
extern const double kTileRoundFlop;  // peak_tiles.cpp
float tile_loop(int64_t rounds);

namespace {

constexpr double kChains = 12;  // as in peak_impl.h
constexpr double kSeconds = 0.03;

struct Variant {
  const char* isa;
  double flop;  // of a round
  float (*loop)(int64_t rounds);
};

constexpr double round_flop(int lanes) { return 2 * kChains * lanes; }

// The instruction sets are those of the engine's kernels: one place decides what this CPU can run.
std::vector<Variant> variants() {
  std::vector<Variant> list = {{"generic", round_flop(generic_lanes), generic_fma_loop}};
#ifdef __x86_64__
  for (const Isa isa : available_isas()) {
    if (isa == Isa::avx2) list.push_back({"avx2", round_flop(avx2_lanes), avx2_fma_loop});
    if (isa == Isa::avx512) list.push_back({"avx512", round_flop(avx512_lanes), avx512_fma_loop});
  }
#endif
  if (engine::native::has_matrix_units()) list.push_back({kTilePeak, kTileRoundFlop, tile_loop});
  return list;
}

double seconds_of(const Variant& variant, int64_t rounds) {
  const int threads = thread_count();
  std::vector<float> results(static_cast<size_t>(threads));
  const auto start = std::chrono::steady_clock::now();
  parallel_for(threads, 1, [&](int64_t begin, int64_t end) {
    for (int64_t t = begin; t < end; ++t) results[static_cast<size_t>(t)] = variant.loop(rounds);
  });
  const std::chrono::duration<double> seconds = std::chrono::steady_clock::now() - start;
  for (const float result : results)  // also keeps the loops from being left out
    if (!std::isfinite(result)) fail("this is a bug", "the multiply-add loop gave {}", result);
  return std::max(seconds.count(), 1e-9);
}

double measure(const Variant& variant, int repeats) {
  int64_t rounds = 1 << 16;
  for (double seconds; (seconds = seconds_of(variant, rounds)) < kSeconds;)
    rounds *= std::clamp<int64_t>(static_cast<int64_t>(kSeconds / seconds * 1.2), 2, 64);
  double best = seconds_of(variant, rounds);
  for (int i = 1; i < repeats; ++i) best = std::min(best, seconds_of(variant, rounds));
  return variant.flop * static_cast<double>(rounds) * thread_count() / best / 1e9;
}

}  // namespace

std::vector<FmaPeak> measure_fma_peak(int repeats) {
  std::vector<FmaPeak> peaks;
  for (const Variant& variant : variants()) peaks.push_back({variant.isa, measure(variant, repeats)});
  return peaks;
}

const FmaPeak& peak_in_use(const std::vector<FmaPeak>& peaks) {
  for (const FmaPeak& peak : peaks)
    if (peak.isa == engine::native::kernels().isa) return peak;
  fail("this is a bug in the caller", "no peak was measured for {}", engine::native::kernels().isa);
}

}  // namespace mdsm::bench

// The multiply-add rate this machine reaches when nothing but registers is touched: the roof that achieved
// rates are compared with.
#pragma once

#include <string>
#include <vector>

namespace mdsm::bench {

inline constexpr const char* kTilePeak = "amx, bfloat16";  // that of the matrix units

struct FmaPeak {
  std::string isa;  // generic, avx2, avx512 in float32; kTilePeak
  double gflops = 0;
};

// One entry for every instruction set this CPU has, the plain one first, then its matrix units, on
// thread_count() threads; the best of `repeats` tries of a few tens of milliseconds each.
std::vector<FmaPeak> measure_fma_peak(int repeats = 10);

// The entry of the instruction set the native engine uses (MDSM_ISA).
const FmaPeak& peak_in_use(const std::vector<FmaPeak>& peaks);

}  // namespace mdsm::bench

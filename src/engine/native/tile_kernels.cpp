#include "engine/native/tile_kernels.h"

#include <cstdlib>
#include <mutex>
#include <string_view>

#include "core/error.h"
#include "core/log.h"
#include "engine/native/kernels.h"

#if defined(__x86_64__) && defined(__linux__)
#include <cpuid.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

namespace mdsm::engine::native {
namespace {

#if defined(__x86_64__) && defined(__linux__)
// Linux gives the large registers of the tiles only to processes that ask for them.
bool ask_for_tiles() {
  constexpr unsigned kBfloat16 = 1u << 22, kTile = 1u << 24;
  constexpr long kRequest = 0x1023, kTileData = 18;
  unsigned a = 0, b = 0, c = 0, d = 0;
  if (!__get_cpuid_count(7, 0, &a, &b, &c, &d) || !(d & kBfloat16) || !(d & kTile)) return false;
  return syscall(SYS_arch_prctl, kRequest, kTileData) == 0;
}

bool has_vector_products() {
  constexpr unsigned kAvx512Bf16 = 1u << 5;
  unsigned a = 0, b = 0, c = 0, d = 0;
  return kernels().vector_tiles && __get_cpuid_count(7, 1, &a, &b, &c, &d) && (a & kAvx512Bf16);
}
#else
bool ask_for_tiles() { return false; }
bool has_vector_products() { return false; }
#endif

// Null where the environment names none.
const TileKernels* asked_for() {
  const char* const wanted = std::getenv("MDSM_TILES");
  if (!wanted || !*wanted) return nullptr;
  const std::string_view name = wanted;
  if (name == "emulated") return kernels().emulated_tiles;
  if (name != "avx512")
    fail_usage("leave it out, or set it to emulated or avx512", "MDSM_TILES={} is not known", wanted);
  if (!has_vector_products())
    fail_usage("leave it out, or set it to emulated", "MDSM_TILES=avx512 needs a CPU with avx512_bf16");
  return kernels().vector_tiles;
}

}  // namespace

bool has_matrix_units() {
  static const bool has = kernels().matrix_tiles && ask_for_tiles();
  return has;
}

bool has_bfloat16() { return has_matrix_units() || has_vector_products(); }

void require_bfloat16() {
  if (asked_for() || has_matrix_units()) return;
  if (!has_vector_products())
    fail_usage("use --precision float32, or set MDSM_TILES=emulated to try it slowly",
               "bfloat16 needs a CPU with matrix units (amx_bf16) or AVX-512 BF16 (avx512_bf16), and this "
               "one has neither");
  static std::once_flag told;
  std::call_once(told, [] {
    log_warning("bfloat16 without matrix units (amx_bf16) takes less memory than float32 and more time");
  });
}

const TileKernels& tile_kernels() {
  static const TileKernels& chosen = [&]() -> const TileKernels& {
    if (const TileKernels* const asked = asked_for()) return *asked;
    if (has_matrix_units()) return *kernels().matrix_tiles;
    return has_vector_products() ? *kernels().vector_tiles : *kernels().emulated_tiles;
  }();
  return chosen;
}

}  // namespace mdsm::engine::native

#include "engine/native/tile_kernels.h"

#include <cstdlib>
#include <string_view>

#include "core/error.h"
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
#else
bool ask_for_tiles() { return false; }
#endif

bool emulation_asked_for() {
  const char* const wanted = std::getenv("MDSM_TILES");
  if (wanted && *wanted && std::string_view(wanted) != "emulated")
    fail_usage("leave it out, or set it to emulated", "MDSM_TILES={} is not known", wanted);
  return wanted && *wanted;
}

}  // namespace

bool has_matrix_units() {
  static const bool has = kernels().matrix_tiles && ask_for_tiles();
  return has;
}

void require_matrix_units() {
  if (emulation_asked_for() || has_matrix_units()) return;
  fail_usage("use --precision float32, or set MDSM_TILES=emulated to try it slowly",
             "bfloat16 needs a CPU with matrix units (amx_bf16), which this one has not");
}

const TileKernels& tile_kernels() {
  static const TileKernels& chosen =
      !emulation_asked_for() && has_matrix_units() ? *kernels().matrix_tiles : *kernels().emulated_tiles;
  return chosen;
}

}  // namespace mdsm::engine::native

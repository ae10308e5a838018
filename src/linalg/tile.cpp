#include "linalg/tile.h"

#include <cstdlib>
#include <string>

#include "core/error.h"

namespace mdsm::linalg {

extern const Tiles generic_tiles;
#ifdef __x86_64__
extern const Tiles avx2_tiles;
extern const Tiles avx512_tiles;
#endif

int tile_variants(const Tiles* (&variants)[3]) {
  int count = 0;
  variants[count++] = &generic_tiles;
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) variants[count++] = &avx2_tiles;
  if (__builtin_cpu_supports("avx512f")) variants[count++] = &avx512_tiles;
#endif
  return count;
}

namespace {
const Tiles& choose() {
  const Tiles* variants[3];
  const int count = tile_variants(variants);
  const char* wanted = std::getenv("MDSM_ISA");
  if (!wanted || !*wanted) return *variants[count - 1];
  for (int i = 0; i < count; ++i)
    if (std::string(wanted) == variants[i]->isa) return *variants[i];
  fail_usage("use generic, avx2 or avx512, as the CPU allows", "MDSM_ISA={} is not available here", wanted);
}
}  // namespace

const Tiles& tiles() {
  static const Tiles& chosen = choose();
  return chosen;
}

}  // namespace mdsm::linalg

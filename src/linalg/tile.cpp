#include "linalg/tile.h"

#include "core/isa.h"

namespace mdsm::linalg {

extern const Tiles generic_tiles;
#ifdef __x86_64__
extern const Tiles avx2_tiles;
extern const Tiles avx512_tiles;
#endif

namespace {

const Tiles& tiles_for([[maybe_unused]] Isa isa) {
#ifdef __x86_64__
  if (isa == Isa::avx2) return avx2_tiles;
  if (isa == Isa::avx512) return avx512_tiles;
#endif
  return generic_tiles;
}

}  // namespace

int tile_variants(const Tiles* (&variants)[3]) {
  int count = 0;
  for (const Isa isa : available_isas()) variants[count++] = &tiles_for(isa);
  return count;
}

const Tiles& tiles() {
  static const Tiles& chosen = tiles_for(chosen_isa());
  return chosen;
}

}  // namespace mdsm::linalg

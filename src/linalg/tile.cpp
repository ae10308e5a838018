#include "linalg/tile.h"

#include "core/isa.h"

namespace mdsm::linalg {

extern const Tiles generic_tiles;
#ifdef __x86_64__
extern const Tiles avx2_tiles;
extern const Tiles avx512_tiles;
#endif

namespace {

#ifdef __x86_64__
constexpr IsaTables<Tiles> kTables{&generic_tiles, &avx2_tiles, &avx512_tiles};
#else
constexpr IsaTables<Tiles> kTables{&generic_tiles, nullptr, nullptr};
#endif

}  // namespace

const Tiles& tiles() {
  static const Tiles& chosen = kTables.chosen();
  return chosen;
}

std::vector<const Tiles*> tile_variants() { return kTables.available(); }

}  // namespace mdsm::linalg

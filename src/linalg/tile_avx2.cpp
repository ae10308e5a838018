#define MDSM_TILE_ISA "avx2"
#define MDSM_TILE_TABLE avx2_tiles
#define MDSM_TILE_BYTES 32
#define MDSM_TILE_ROWS 6
#include "linalg/tile_impl.h"

#define MDSM_TILE_ISA "avx512"
#define MDSM_TILE_TABLE avx512_tiles
#define MDSM_TILE_BYTES 64
#define MDSM_TILE_ROWS 12
#include "linalg/tile_impl.h"

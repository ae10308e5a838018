#define MDSM_TILE_ISA "generic"
#define MDSM_TILE_TABLE generic_tiles
#define MDSM_TILE_BYTES 16
#define MDSM_TILE_ROWS 6
#include "linalg/tile_impl.h"

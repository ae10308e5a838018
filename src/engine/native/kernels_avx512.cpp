#define MDSM_KERNEL_ISA "avx512"
#define MDSM_KERNEL_TABLE avx512_kernels
#include "engine/native/kernels_impl.h"

#define MDSM_KERNEL_ISA "avx2"
#define MDSM_KERNEL_TABLE avx2_kernels
#include "engine/native/kernels_impl.h"

#define MDSM_KERNEL_ISA "generic"
#define MDSM_KERNEL_TABLE generic_kernels
#include "engine/native/kernels_impl.h"

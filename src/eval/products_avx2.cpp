#define MDSM_PRODUCTS panel_products_avx2
#include "eval/products_impl.h"

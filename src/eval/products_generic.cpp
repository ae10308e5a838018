#define MDSM_PRODUCTS panel_products_generic
#include "eval/products_impl.h"

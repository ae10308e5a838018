#include "eval/products.h"

namespace mdsm {

void panel_products_generic(const float*, int64_t, const float*, int64_t, float*);
#ifdef __x86_64__
void panel_products_avx2(const float*, int64_t, const float*, int64_t, float*);
#endif

PanelProducts panel_products() {
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return panel_products_avx2;
#endif
  return panel_products_generic;
}

}  // namespace mdsm

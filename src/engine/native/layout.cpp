#include "engine/native/layout.h"

#include "engine/native/kernels.h"
#include "engine/native/onednn.h"

namespace mdsm::engine::native {
namespace {

// With MDSM_ISA=avx2 oneDNN is held to it as well (only possible before its first use). Not lower: without
// AVX it has no fast convolutions in these layouts at all.
int64_t widest_block() {
  if (kernels().widest_block < 16) dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
  return kernels().widest_block;
}

}  // namespace

Layout choose_layout(int64_t width) {
  static const int64_t widest = widest_block();
  return {width % widest == 0 ? widest : 8};
}

}  // namespace mdsm::engine::native

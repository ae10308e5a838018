#include "engine/native/layout.h"

#include <oneapi/dnnl/dnnl.hpp>

namespace mdsm::native {

Layout choose_layout(const Spec& spec) {
  const auto isa = dnnl::get_effective_cpu_isa();
  const bool avx512 = isa == dnnl::cpu_isa::avx512_core || isa == dnnl::cpu_isa::avx512_core_vnni ||
                      isa == dnnl::cpu_isa::avx512_core_bf16 || isa == dnnl::cpu_isa::avx512_core_amx;
  return {avx512 && spec.width % 16 == 0 ? 16 : 8};
}

}  // namespace mdsm::native

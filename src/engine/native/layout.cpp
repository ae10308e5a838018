#include "engine/native/layout.h"

#include <oneapi/dnnl/dnnl.hpp>
#include <string_view>

#include "engine/native/kernels.h"

namespace mdsm::native {
namespace {

// With MDSM_ISA=avx2 oneDNN is held to it as well (only possible before its first use). Not lower: without
// AVX it has no fast convolutions in these layouts at all.
bool hold_to_kernels() {
  const std::string_view isa = kernels().isa;
  if (isa == "avx512") return true;
  if (isa == "avx2") dnnl::set_max_cpu_isa(dnnl::cpu_isa::avx2);
  return false;
}

}  // namespace

Layout choose_layout(const Spec& spec) {
  static const bool avx512 = hold_to_kernels();
  return {avx512 && spec.width % 16 == 0 ? 16 : 8};
}

}  // namespace mdsm::native

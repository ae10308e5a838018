#include "engine/native/kernels.h"

#include "core/isa.h"

namespace mdsm::engine::native {

extern const Kernels generic_kernels;
#ifdef __x86_64__
extern const Kernels avx2_kernels;
extern const Kernels avx512_kernels;
#endif

namespace {

const Kernels& kernels_for([[maybe_unused]] Isa isa) {
#ifdef __x86_64__
  if (isa == Isa::avx2) return avx2_kernels;
  if (isa == Isa::avx512) return avx512_kernels;
#endif
  return generic_kernels;
}

}  // namespace

int kernel_variants(const Kernels* (&variants)[3]) {
  int count = 0;
  for (const Isa isa : available_isas()) variants[count++] = &kernels_for(isa);
  return count;
}

const Kernels& kernels() {
  static const Kernels& chosen = kernels_for(chosen_isa());
  return chosen;
}

}  // namespace mdsm::engine::native

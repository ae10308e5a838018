#include "engine/native/kernels.h"

#include "core/isa.h"

namespace mdsm::engine::native {

extern const Kernels generic_kernels;
#ifdef __x86_64__
extern const Kernels avx2_kernels;
extern const Kernels avx512_kernels;
#endif

namespace {

#ifdef __x86_64__
constexpr IsaTables<Kernels> kTables{&generic_kernels, &avx2_kernels, &avx512_kernels};
#else
constexpr IsaTables<Kernels> kTables{&generic_kernels, nullptr, nullptr};
#endif

}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = kTables.chosen();
  return chosen;
}

std::vector<const Kernels*> kernel_variants() { return kTables.available(); }

}  // namespace mdsm::engine::native

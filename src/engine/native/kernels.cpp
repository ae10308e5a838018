#include "engine/native/kernels.h"

#include <cstdlib>

#include "core/error.h"

namespace mdsm::native {

extern const Kernels generic_kernels;
#ifdef __x86_64__
extern const Kernels avx2_kernels;
extern const Kernels avx512_kernels;
#endif

int kernel_variants(const Kernels* (&variants)[3]) {
  int count = 0;
  variants[count++] = &generic_kernels;
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) variants[count++] = &avx2_kernels;
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    variants[count++] = &avx512_kernels;
#endif
  return count;
}

namespace {
const Kernels& choose() {
  const Kernels* variants[3];
  const int count = kernel_variants(variants);
  const char* wanted = std::getenv("MDSM_ISA");
  if (!wanted || !*wanted) return *variants[count - 1];
  for (int i = 0; i < count; ++i)
    if (std::string(wanted) == variants[i]->isa) return *variants[i];
  fail_usage("use generic, avx2 or avx512, as the CPU allows", "MDSM_ISA={} is not available here", wanted);
}
}  // namespace

const Kernels& kernels() {
  static const Kernels& chosen = choose();
  return chosen;
}

}  // namespace mdsm::native

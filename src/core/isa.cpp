#include "core/isa.h"

#include <cstdlib>
#include <string_view>

#include "core/error.h"

namespace mdsm {
namespace {

Isa choose() {
  const std::vector<Isa> available = available_isas();
  const char* wanted = std::getenv("MDSM_ISA");
  if (!wanted || !*wanted) return available.back();
  for (const Isa isa : available)
    if (std::string_view(wanted) == isa_name(isa)) return isa;
  fail_usage("use generic, avx2 or avx512, as the CPU allows", "MDSM_ISA={} is not available here", wanted);
}

}  // namespace

const char* isa_name(Isa isa) {
  return isa == Isa::generic ? "generic" : isa == Isa::avx2 ? "avx2" : "avx512";
}

std::vector<Isa> available_isas() {
  std::vector<Isa> isas = {Isa::generic};
#ifdef __x86_64__
  if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) isas.push_back(Isa::avx2);
  if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vl") &&
      __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512bw"))
    isas.push_back(Isa::avx512);
#endif
  return isas;
}

Isa chosen_isa() {
  static const Isa chosen = choose();
  return chosen;
}

}  // namespace mdsm

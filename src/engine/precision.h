// What engines compute with.
#pragma once

#include "core/enum_names.h"

namespace mdsm::engine {

// bfloat16: maps and weights of the network are rounded to it; native: convolutions on the CPU's matrix
// units or by AVX-512 BF16, torch: autocast. tf32: torch on CUDA, products of 10 bits after the point. All
// else is float32.
enum class Precision { float32, bfloat16, tf32 };
constexpr auto enum_names(Precision) {
  return names_of<Precision>(
      {{Precision::float32, "float32"}, {Precision::bfloat16, "bfloat16"}, {Precision::tf32, "tf32"}});
}

}  // namespace mdsm::engine

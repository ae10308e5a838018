// Which of the kernels that are compiled once per instruction set this CPU runs: the best it has, or the one
// that MDSM_ISA names.
#pragma once

#include <vector>

namespace mdsm {

enum class Isa { generic, avx2, avx512 };

const char* isa_name(Isa isa);      // as in MDSM_ISA
std::vector<Isa> available_isas();  // plainest first
Isa chosen_isa();                   // a usage error where MDSM_ISA asks for what is not there

}  // namespace mdsm

// Which of the kernels that are compiled once per instruction set this CPU runs: the best it has, or the one
// that MDSM_ISA names.
#pragma once

#include <vector>

namespace mdsm {

enum class Isa { generic, avx2, avx512 };

const char* isa_name(Isa isa);      // as in MDSM_ISA
std::vector<Isa> available_isas();  // plainest first
Isa chosen_isa();                   // a usage error where MDSM_ISA asks for what is not there

// The tables of functions that a library has for the instruction sets; those that were not compiled are null.
template <class Table>
struct IsaTables {
  const Table *generic, *avx2, *avx512;

  const Table& of(Isa isa) const {
    const Table* table = isa == Isa::avx512 ? avx512 : isa == Isa::avx2 ? avx2 : generic;
    return table ? *table : *generic;
  }
  const Table& chosen() const { return of(chosen_isa()); }
  // Every table that this CPU can run, the plainest first.
  std::vector<const Table*> available() const {
    std::vector<const Table*> tables;
    for (const Isa isa : available_isas()) tables.push_back(&of(isa));
    return tables;
  }
};

}  // namespace mdsm

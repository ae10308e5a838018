// What a bug report or a benchmark says about the machine it ran on.
#pragma once

#include <string>

namespace mdsm {

std::string cpu_model();     // "Intel(R) Xeon(R) ..."; "unknown" where the system does not say
std::string today();         // "2026-11-16", UTC
std::string cpu_features();  // "AVX2, FMA, AVX-512F"

}  // namespace mdsm

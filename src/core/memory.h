// How much memory this process may still take, to refuse a run that cannot fit before it starts.
#pragma once

#include <cstddef>
#include <string>

namespace mdsm {

// The machine's available memory or what its control group leaves, whichever is less; 0 when unknown.
size_t available_memory();

std::string bytes_text(size_t bytes);  // "1.25 GB", "340 MB"

}  // namespace mdsm

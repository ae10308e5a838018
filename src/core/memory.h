// How much memory this process may still take, to refuse a run that cannot fit before it starts; and numbers
// of bytes as text.
#pragma once

#include <cstddef>
#include <string>

namespace mdsm {

// The machine's available memory or what its control group leaves, whichever is less; 0 when unknown.
size_t available_memory();

std::string bytes_text(double bytes);  // three digits, powers of 1000: "1.25 GB", "34.0 MB", "340 bytes"

}  // namespace mdsm

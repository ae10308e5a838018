// What makes changed inputs worth trying: checksums are put right, so that what lies behind them is reached,
// and values that no reader looks at need not be part of an input.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace mdsm::fuzz {

// Those of PNG chunks, stored zip entries, tar headers, gzip files, and our own of safetensors files. Nothing
// changes but them.
void mend(std::span<uint8_t> file);

// A safetensors file whose values are missing, with as many zeros as it asks for; at most 1 MB of them.
std::vector<std::byte> with_values(std::span<const std::byte> file);

}  // namespace mdsm::fuzz

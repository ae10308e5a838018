// Lists of seeds as people write them: "0-63,70" is 0 to 63 and 70.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mdsm {

// In the order given. Empty lists, backward ranges, repeated seeds and more than ten million of them are
// usage errors; `option` is the name for the message.
std::vector<uint64_t> parse_seeds(const std::string& text, const std::string& option);

// The shortest such text: runs of consecutive seeds become ranges.
std::string seeds_text(std::span<const uint64_t> seeds);

}  // namespace mdsm

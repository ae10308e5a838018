// Options by name, the same as those of the command line (docs/cli.md) without the dashes:
//   {{"sampler", "fast"}, {"h0", "0.05"}}
// A name that the call does not know or a value out of range is a usage Error that says so.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace mdsm {

using Settings = std::vector<std::pair<std::string, std::string>>;

}  // namespace mdsm

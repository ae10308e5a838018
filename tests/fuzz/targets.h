// Every reader of bytes from outside as a function of bytes. It may throw mdsm::Error and nothing else;
// libfuzzer.cpp looks for inputs that make it do more, regression.cpp runs the known ones through it.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>

namespace mdsm::fuzz {

using Bytes = std::span<const std::byte>;
using Target = void (*)(Bytes);

const std::map<std::string, Target>& targets();

}  // namespace mdsm::fuzz

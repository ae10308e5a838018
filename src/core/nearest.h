// The name that a mistyped word was probably meant to be.
#pragma once

#include <span>
#include <string>
#include <string_view>

namespace mdsm {

// Empty where none is within two letters of it.
std::string nearest_name(std::string_view word, std::span<const std::string> names);

}  // namespace mdsm

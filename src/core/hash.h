// A fingerprint of bytes: FNV-1a with 64 bits. It tells whether two files or lists are the same; it is no
// protection against someone who wants them to seem so.
#pragma once

#include <cstddef>
#include <string>

namespace mdsm {

std::string content_hash(const void* data, size_t bytes);  // 16 hexadecimal digits

}  // namespace mdsm

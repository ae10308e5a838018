// A fingerprint of bytes: FNV-1a with 64 bits. It tells whether two files or lists are the same; it is no protection
// against someone who wants them to seem so.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>

namespace mdsm {

uint64_t fnv1a(const void* data, size_t bytes);
std::string content_hash(const void* data, size_t bytes);  // the same as 16 hexadecimal digits

}  // namespace mdsm

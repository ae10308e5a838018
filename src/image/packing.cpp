#include "image/packing.h"

#include <zlib.h>

#include <algorithm>
#include <new>

namespace mdsm::image {

std::string packed(const std::string& bytes) {
  uLongf size = compressBound(bytes.size());
  std::string out(size, '\0');
  if (compress(reinterpret_cast<Bytef*>(out.data()), &size, reinterpret_cast<const Bytef*>(bytes.data()),
               bytes.size()) != Z_OK)
    throw std::bad_alloc();  // the only way it can fail
  out.resize(size);
  return out;
}

// Memory grows with what comes out, as a few bytes may claim to be many.
std::string unpacked(std::span<const std::byte> bytes, size_t most) {
  for (size_t room = std::min(most, 16 * bytes.size() + 1024);; room = std::min(most, 8 * room)) {
    std::string out(room, '\0');
    uLongf size = room;
    const int result = uncompress(reinterpret_cast<Bytef*>(out.data()), &size,
                                  reinterpret_cast<const Bytef*>(bytes.data()), bytes.size());
    if (result == Z_OK) return out.substr(0, size);
    if (result != Z_BUF_ERROR || room == most) return "";
  }
}

}  // namespace mdsm::image

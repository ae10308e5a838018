// safetensors files that carry a checksum of all they hold: what a later call goes on from. To everybody else
// they are ordinary ones.
#pragma once

#include "io/safetensors.h"

namespace mdsm::io {

void write_checked_safetensors(const fs::path& path, const std::vector<NamedTensor>& tensors,
                               std::map<std::string, std::string> metadata);

// Whether the checksum is right. Files of earlier versions have none, which is right too.
bool checksum_is_right(const SafetensorsFile& file);

}  // namespace mdsm::io

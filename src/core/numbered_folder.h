// Run folders by their number: runs/00007 for runs/00007-photos-unet-w32.
#pragma once

#include "core/files.h"

namespace mdsm {

// The one folder beside it that begins with this number and a hyphen; the path itself where it exists, is no
// number, or there is no such folder. Several are an error that names them.
fs::path numbered_folder(const fs::path& path);

}  // namespace mdsm

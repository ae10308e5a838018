// What the commands that use a classifier share: how one is named.
#pragma once

#include <string>

#include "core/files.h"

namespace mdsm::cli {

// A file as it is; a bundled name (fashion-mnist, mnist) as the file classifier-NAME that ships. Throws with
// the names there are when neither exists.
fs::path classifier_path(const std::string& given);

}  // namespace mdsm::cli

#include "cli/version.h"

#include <fmt/format.h>

#include "core/threads.h"

namespace mdsm::cli {

std::string version_text() { return fmt::format("mdsm {}\nthreads: {}\n", MDSM_VERSION, hardware_threads()); }

}  // namespace mdsm::cli

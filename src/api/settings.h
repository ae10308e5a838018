// Settings of the public interface, given to options of the command line.
#pragma once

#include <mdsm/settings.h>

#include "core/options.h"

namespace mdsm::api {

void apply(OptionSet& options, const Settings& settings);

}  // namespace mdsm::api

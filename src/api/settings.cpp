#include "api/settings.h"

namespace mdsm::api {

void apply(OptionSet& options, const Settings& settings) {
  for (const auto& [name, value] : settings) options.set(name, value, "settings");
}

}  // namespace mdsm::api

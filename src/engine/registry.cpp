// Engines by name. A name that does not exist, or a device an engine does not have, is an error; nothing is
// replaced by something else.
#include "core/error.h"
#include "engine/check_engine.h"
#include "engine/engine.h"
#include "engine/native/native_engine.h"
#include "engine/torch_module.h"

namespace mdsm {

std::unique_ptr<Engine> make_engine(const EngineOptions& options, const Parameters& parameters) {
  if (options.engine == "torch" && options.exact)
    fail_usage("leave it out (a resumed run: --no-exact), or use --engine native",
               "--exact has no meaning for the torch engine");
  if (options.engine == "torch") return make_torch_engine(parameters, options.device);
  if (options.engine == "check")
    return std::make_unique<CheckEngine>(make_native_engine(parameters, options.exact),
                                         make_torch_engine(parameters, options.device));
  if (options.engine != "native")
    fail_usage("choose native, torch or check", "engine '{}' does not exist", options.engine);
  if (options.device != "cpu")
    fail_usage("use --device cpu, or --engine torch", "the native engine does not run on device '{}'",
               options.device);
  return make_native_engine(parameters, options.exact);
}

std::vector<std::string> available_engines() {
  if (!torch_module_present()) return {"native"};
  return {"native", "torch", "check"};
}

}  // namespace mdsm

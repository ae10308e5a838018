#include "engine/registry/registry.h"

#include <algorithm>

#include "core/error.h"
#include "engine/check_engine.h"
#include "engine/native/native_engine.h"
#include "engine/registry/torch_loader.h"

namespace mdsm::engine {
namespace {

struct Backend {
  EngineKind kind;
  std::unique_ptr<TrainableEnergy> (*make)(const EngineOptions&, const network::Parameters&);
  std::optional<MemoryNeed> (*memory)(const EngineOptions&, const network::Spec&,
                                      int64_t n);  // null: not known
  bool (*present)();
};

NativeArithmetic arithmetic(const EngineOptions& options) {
  if (options.exact && options.precision == Precision::bfloat16)
    fail_usage("leave one of them out", "--exact and --precision bfloat16 exclude each other");
  if (options.precision == Precision::tf32)
    fail_usage("use --engine torch --device cuda, or bfloat16", "the native engine does not compute in tf32");
  return options.exact                              ? NativeArithmetic::exact
         : options.precision == Precision::bfloat16 ? NativeArithmetic::bfloat16
                                                    : NativeArithmetic::fast;
}

std::unique_ptr<TrainableEnergy> make_native(const EngineOptions& options,
                                             const network::Parameters& parameters) {
  if (options.device != "cpu")
    fail_usage("use --device cpu, or --engine torch", "the native engine does not run on device '{}'",
               options.device);
  return make_native_engine(parameters, arithmetic(options));
}

std::unique_ptr<TrainableEnergy> make_torch(const EngineOptions& options,
                                            const network::Parameters& parameters) {
  if (options.exact)
    fail_usage("leave it out (a resumed run: --no-exact), or use --engine native",
               "--exact has no meaning for the torch engine");
  if (options.precision == Precision::tf32 && options.device == "cpu")
    fail_usage("use --device cuda, or another precision", "--precision tf32 is for GPUs, not for the cpu");
  return make_torch_engine(parameters, options.device, options.precision);
}

std::unique_ptr<TrainableEnergy> make_check(const EngineOptions& options,
                                            const network::Parameters& parameters) {
  if (options.precision != Precision::float32)
    fail_usage("use --engine native or torch, or --precision float32",
               "the check engine computes in float32 only");
  return std::make_unique<CheckEngine>(make_native_engine(parameters, arithmetic(options)),
                                       make_torch_engine(parameters, options.device, options.precision));
}

constexpr Backend kBackends[] = {
    {EngineKind::native, make_native,
     [](const EngineOptions& options, const network::Spec& spec, int64_t n) -> std::optional<MemoryNeed> {
       return native_memory(spec, n, arithmetic(options));
     },
     [] { return true; }},
    {EngineKind::torch, make_torch, nullptr, torch_module_present},
    {EngineKind::check, make_check, nullptr, torch_module_present},
};

const Backend& backend(EngineKind kind) { return *std::ranges::find(kBackends, kind, &Backend::kind); }

}  // namespace

std::unique_ptr<TrainableEnergy> make_engine(const EngineOptions& options,
                                             const network::Parameters& parameters) {
  return backend(options.engine).make(options, parameters);
}

std::optional<MemoryNeed> memory_need(const EngineOptions& options, const network::Spec& spec, int64_t n) {
  const Backend& asked = backend(options.engine);
  if (!asked.memory) return std::nullopt;
  return asked.memory(options, spec, n);
}

std::vector<EngineKind> available_engines() {
  std::vector<EngineKind> kinds;
  for (const Backend& one : kBackends)
    if (one.present()) kinds.push_back(one.kind);
  return kinds;
}

std::string native_engine_version() { return native_version(); }

}  // namespace mdsm::engine

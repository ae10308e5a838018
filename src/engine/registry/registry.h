// The engines by name: what this program can compute with, above its backends. One row a backend in
// registry.cpp.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "engine/precision.h"
#include "engine/trainable_energy.h"

namespace mdsm::engine {

enum class EngineKind { native, torch, check };
constexpr auto enum_names(EngineKind) {
  return names_of<EngineKind>(
      {{EngineKind::native, "native"}, {EngineKind::torch, "torch"}, {EngineKind::check, "check"}});
}

struct EngineOptions {
  EngineKind engine = EngineKind::native;
  std::string device = "cpu";                // cpu, cuda, cuda:K (torch and check only)
  bool exact = false;                        // native and check: direct convolutions only, none of Winograd's
  Precision precision = Precision::float32;  // bfloat16: native and torch; tf32: torch on CUDA
};

// Throws when the engine or device does not exist here; never falls back to another one.
std::unique_ptr<TrainableEnergy> make_engine(const EngineOptions& options,
                                             const network::Parameters& parameters);

// What a call on n images needs, before anything is made; nothing where an engine does not know (LibTorch).
std::optional<MemoryNeed> memory_need(const EngineOptions& options, const network::Spec& spec, int64_t n);

// The engines this build and machine can make.
std::vector<EngineKind> available_engines();

// For --version: "oneDNN 2.6.3, own kernels for AVX2".
std::string native_engine_version();

}  // namespace mdsm::engine

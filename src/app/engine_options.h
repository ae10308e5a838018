// The options that choose what computes: --engine, --device and --threads, the same in every command that
// runs a network. After parsing, call use_threads(threads), then make_engine(options, parameters).
#pragma once

#include "core/options.h"
#include "engine/registry/registry.h"

namespace mdsm::app {

void declare_engine_options(OptionSet& options, engine::EngineOptions& engine, int64_t& threads);

// Warns about many more than the machine has; 0 takes all.
void use_threads(int64_t threads);

}  // namespace mdsm::app

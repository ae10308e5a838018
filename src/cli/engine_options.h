// The options that choose what computes: --engine, --device and --threads, the same in every command that
// runs a network. After parsing, call set_thread_count(threads), then make_engine(options, parameters).
#pragma once

#include "core/options.h"
#include "engine/engine.h"

namespace mdsm::cli {

void declare_engine_options(OptionSet& options, EngineOptions& engine, int64_t& threads);

}  // namespace mdsm::cli

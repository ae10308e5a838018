#include "app/engine_options.h"

#include <thread>

#include "core/log.h"
#include "core/threads.h"

namespace mdsm::app {

void declare_engine_options(OptionSet& options, engine::EngineOptions& engine, int64_t& threads) {
  options.group("Engine");
  options.add("engine", engine.engine,
              "native (CPU), torch (LibTorch), or check, which runs both and compares");
  options.add("device", engine.device, "cpu, or cuda or cuda:K for the torch and check engines")
      .meta("DEVICE");
  options.add("exact", engine.exact,
              "native: direct convolutions only; slower, with the rounding of plain summation");
  options.add("precision", engine.precision,
              "bfloat16: convolutions rounded to 8 bits, half the memory; faster on the CPU's matrix units "
              "(AMX), slower by AVX-512 BF16; torch by autocast. tf32: torch on cuda, rounded to 11 bits");
  options.add("threads", threads, "CPU threads; 0 takes all").range(0, 1024);
}

void use_threads(int64_t threads) {
  constexpr int64_t kMany = 4;  // for each that the machine has
  if (const int64_t has = std::max(1u, std::thread::hardware_concurrency()); threads > kMany * has)
    log_warning("--threads {} on a machine that runs {} at a time: they will wait for each other", threads,
                has);
  set_thread_count(static_cast<int>(threads));
}

}  // namespace mdsm::app

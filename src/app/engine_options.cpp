#include "app/engine_options.h"

namespace mdsm::app {

void declare_engine_options(OptionSet& options, engine::EngineOptions& engine, int64_t& threads) {
  options.group("Engine");
  options.add("engine", engine.engine,
              "native (CPU), torch (LibTorch), or check, which runs both and compares");
  options.add("device", engine.device, "cpu, or cuda or cuda:K for the torch and check engines")
      .meta("DEVICE");
  options.add("exact", engine.exact,
              "native: direct convolutions only; slower, with the rounding of plain summation");
  options.add(
      "precision", engine.precision,
      "native: bfloat16 computes convolutions on the CPU's matrix units, faster and rounded to 8 bits");
  options.add("threads", threads, "CPU threads; 0 takes all").range(0, 1024);
}

}  // namespace mdsm::app

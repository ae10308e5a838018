// Tables of whole steps.
#include "bench/report_cells.h"
#include "bench/report_tables.h"
#include "bench/table.h"
#include "core/memory.h"
#include "train/likelihood.h"

namespace mdsm::bench {

std::string training_table(const BenchResult& result) {
  Table table({"network", "ours", "PyTorch", "ratio", "images/s", "GFLOP/s", "of peak", "memory", "PyTorch's",
               "threads"});
  for (const StepTimes& t : result.steps) {
    if (t.task != Task::training) continue;
    const double median = t.ours.spread().median, work = flop(t.config, t.task);
    table.row({text(t.config), times_text(t.ours), t.peer ? times_text(*t.peer) : "",
               ratio_text(t.peer, t.ours),
               fmt::format("{:.0f}", static_cast<double>(t.config.batch) / median), rate_text(work, median),
               share_text(work, median, result.peak_gflops()), bytes_text(t.ours.peak_memory),
               t.peer ? bytes_text(t.peer->peak_memory) : "", ratio_text(t.one_thread, t.ours)});
  }
  return "\n## Training step\n\n" + table.text() +
         fmt::format("\n\"threads\": one thread's time over that of {}.\n", result.threads);
}

// The paper says about ten times.
std::string likelihood_table(const BenchResult& result) {
  Table table({"network", "mdsm", "maximum likelihood", "ratio"});
  bool any = false;
  for (const StepTimes& t : result.steps) {
    if (!t.likelihood) continue;
    any = true;
    table.row(
        {text(t.config), times_text(t.ours), times_text(*t.likelihood), ratio_text(t.likelihood, t.ours)});
  }
  return any ? fmt::format("\n## Update of maximum likelihood with {} Langevin steps\n\n",
                           train::LikelihoodOptions().steps) +
                   table.text()
             : "";
}

std::string langevin_table(const BenchResult& result) {
  Table table({"network", "ours", "PyTorch, authors' way", "ratio", "PyTorch, by x only", "ratio", "images/s",
               "GFLOP/s", "of peak", "memory", "PyTorch's", "threads"});
  for (const StepTimes& t : result.steps) {
    if (t.task != Task::langevin) continue;
    const double median = t.ours.spread().median, work = flop(t.config, t.task);
    table.row({text(t.config), times_text(t.ours), t.peer ? times_text(*t.peer) : "",
               ratio_text(t.peer, t.ours), t.peer_input ? times_text(*t.peer_input) : "",
               ratio_text(t.peer_input, t.ours),
               fmt::format("{:.0f}", static_cast<double>(t.config.batch) / median), rate_text(work, median),
               share_text(work, median, result.peak_gflops()), bytes_text(t.ours.peak_memory),
               t.peer ? bytes_text(t.peer->peak_memory) : "", ratio_text(t.one_thread, t.ours)});
  }
  return "\n## Langevin step\n\n" + table.text();
}

std::string bfloat16_table(const BenchResult& result) {
  Table table({"network", "step", "ours in bfloat16", "ours in float32", "ratio", "fastest PyTorch", "ratio",
               "GFLOP/s", "of tile peak", "memory", "in float32", "PyTorch's"});
  bool any = false;
  for (const StepTimes& t : result.steps) {
    if (!t.bfloat16) continue;
    any = true;
    const double median = t.bfloat16->spread().median, work = flop(t.config, t.task);
    const std::optional<Timing>& peer = t.best_peer();
    table.row({text(t.config), to_string(t.task), times_text(*t.bfloat16), times_text(t.ours),
               ratio_text(t.ours, *t.bfloat16), peer ? times_text(*peer) : "", ratio_text(peer, *t.bfloat16),
               rate_text(work, median), share_text(work, median, result.tile_gflops()),
               bytes_text(t.bfloat16->peak_memory), bytes_text(t.ours.peak_memory),
               peer ? bytes_text(peer->peak_memory) : ""});
  }
  return any ? "\n## bfloat16 (`--precision bfloat16`)\n\n" + table.text() : "";
}

std::string direct_table(const BenchResult& result) {
  Table table({"network", "step", "direct path", "GFLOP/s", "of peak", "over ours"});
  for (const StepTimes& t : result.steps) {
    const double median = t.direct.spread().median, work = flop(t.config, t.task);
    table.row({text(t.config), to_string(t.task), times_text(t.direct), rate_text(work, median),
               share_text(work, median, result.peak_gflops()), ratio_text(t.direct, t.ours)});
  }
  return "\n## Direct convolutions only (`--exact`)\n\n" + table.text();
}

}  // namespace mdsm::bench

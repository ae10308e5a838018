// Tables of PyTorch's modes, of busy neighbours, of growth and of what was verified.
#include "bench/report_cells.h"
#include "bench/report_tables.h"
#include "bench/table.h"
#include "core/memory.h"

namespace mdsm::bench {

std::string mode_table(const BenchResult& result) {
  if (result.modes.empty()) return "";
  Table table({"PyTorch", "program", "precision", "training step of a few images"});
  for (const PeerMode& mode : result.modes)
    table.row({mode.version, mode.python(), mode.name,
               mode.problem.empty() ? seconds_text(mode.seconds) : "could not run: " + mode.problem});
  return "\n## Modes of PyTorch\n\n" + table.text();
}

// The probe steps that chose the peer of every row; nothing where there was no choice.
std::string fastest_table(const BenchResult& result) {
  std::vector<std::string> header = {"network", "step"};
  for (const PeerMode& mode : result.modes)
    if (mode.problem.empty()) header.push_back(mode.text());
  if (header.size() < 4) return "";
  Table table(header);
  for (const StepTimes& t : result.steps) {
    std::vector<std::string> cells = {text(t.config), to_string(t.task)};
    for (const ModeTime& time : t.modes) {
      const std::string said = time.problem.empty() ? seconds_text(time.seconds) : time.problem;
      cells.push_back(time.mode == t.peer_mode ? "**" + said + "**" : said);
    }
    table.row(cells);
  }
  return "\nOne step of each; Langevin by x only. The fastest, in bold, is the PyTorch of the other "
         "tables.\n\n" +
         table.text();
}

std::string busy_table(const BenchResult& result) {
  if (result.busy.empty()) return "";
  Table table({"network", "step", "busy programs beside it", fmt::format("{} threads", result.threads),
               "one thread", "ratio"});
  for (const BusyTimes& t : result.busy)
    table.row({text(t.config), to_string(t.task), fmt::format("{}", t.neighbours), times_text(t.all_threads),
               times_text(t.one_thread), fmt::format("{:.2f}x", t.ratio())});
  return "\n## Beside busy programs\n\nThe time of all threads over that of one: above 1, the threads wait "
         "for each "
         "other.\n\n" +
         table.text();
}

std::string growth_table(const BenchResult& result) {
  if (result.growth.empty()) return "";
  Table table({"network", "grows", "training", "GFLOP/s", "memory", "Langevin", "GFLOP/s", "memory"});
  for (const GrowthTimes& t : result.growth) {
    const double training = t.training.spread().median, langevin = t.langevin.spread().median;
    table.row({text(t.config), t.what, seconds_text(training),
               rate_text(flop(t.config, Task::training), training), bytes_text(t.training.peak_memory),
               seconds_text(langevin), rate_text(flop(t.config, Task::langevin), langevin),
               bytes_text(t.langevin.peak_memory)});
  }
  return "\n## Growth of our cost\n\n" + table.text();
}

std::string verification_table(const BenchResult& result) {
  Table table(
      {"network", "our kernels", "against", "energy", "grad_x", "residual", "gradient", "second run"});
  for (const Verification& v : result.verifications) {
    std::vector<std::string> cells = {text(v.config), v.kernels, v.reference};
    for (const engine::Difference& d : v.differences)
      cells.push_back(d.what == "second run" ? (d.ok() ? "same bits" : "DIFFERS")
                                             : fmt::format("{:.1e}{}", d.relative, d.ok() ? "" : " WRONG"));
    table.row(cells);
  }
  return fmt::format(
      "\n## Verified before timing\n\nRelative differences on the same weights and images; {:.0e} is the "
      "limit, {:.0e} for bfloat16.\n\n{}",
      kVerifyTolerance, kBfloat16Tolerance, table.text());
}

}  // namespace mdsm::bench

// mdsm bench: the native engine against PyTorch; the folder bench measures and writes the tables.
#include <iostream>

#include "app/network_options.h"
#include "app/output.h"
#include "bench/measure.h"
#include "bench/report.h"
#include "bench/worker.h"
#include "cli/command.h"
#include "core/error.h"
#include "core/json.h"
#include "core/threads.h"

namespace mdsm::cli {
namespace {

class Bench : public Command {
 public:
  const char* name() const override { return "bench"; }
  const char* summary() const override {
    return "Time the native engine against PyTorch, verifying it first";
  }
  void declare(OptionSet& options) override {
    options.group("What to measure");
    options.add("suite", suite_,
                "quick: one small network; full: those of docs/benchmarks.md, growth, and --busy");
    network_.declare(options);
    options.add("batch", batch_, "images a step; this or a network option replaces the suite by one network")
        .range(1, 1'000'000);
    options.add("rounds", bench_.rounds, "measurements of each side; 0 takes 5, or 3 where they are long")
        .range(0, 1000);
    options.add("verify-only", bench_.verify_only, "compare both sides and stop");
    options.add("likelihood", bench_.likelihood,
                "time an update of maximum likelihood as well, beside the training step");
    options.add("busy", bench_.busy,
                "time a small network beside two busy programs too, on all threads and on one");
    options.add("dry-run", dry_run_, "check the options, print what would be measured and stop")
        .command_line_only();
    options.add("seed", seed_, "seed of weights, images and noise").range(0);
    options.group("Sides");
    options.add("threads", threads_, "CPU threads of each side; 0 takes all").range(0, 1024);
    options
        .add("python", bench_.pythons,
             "interpreter with PyTorch, more than once to compare with the fastest of several; "
             "/usr/bin/python3 if it exists")
        .meta("PROGRAM");
    options.add("peer", bench_.peer, "the PyTorch program; bench/peers/peer.py is found by itself")
        .meta("FILE");
    options.add("no-peer", no_peer_, "measure our side only, verified against its plainest instruction set");
    options.add("timeout", bench_.timeout, "seconds to wait for one answer of a side").above(0);
    options.add("worker", worker_, "be one side: answer requests on standard input (src/bench/worker.h)")
        .command_line_only()
        .hidden();
    options.group("Output");
    options.add("out", out_, "write everything measured as JSON").meta("FILE.json");
    options.add("markdown", markdown_, "write the tables to a file").meta("FILE.md");
    options.example("mdsm bench --suite full --out bench.json");
    options.example("mdsm bench --net res18 --width 128 --channels 3 --batch 16");
  }

  int run(OptionSet& options) override {
    if (worker_) {
      bench::serve_benchmark(std::cin, std::cout);
      return 0;
    }
    for (const std::string& path : {out_, markdown_}) app::check_folder_of(path);
    choose(options);
    if (dry_run_) {
      for (const bench::Configuration& config : bench_.configurations)
        fmt::print("{}\n", bench::text(config));
      return 0;
    }
    const bench::BenchResult result = bench::run_benchmark(bench_, [this](const std::string& line) {
      if (!quiet) fmt::print(stderr, "bench: {}\n", line);
    });
    const bench::Machine machine = bench::this_machine();
    const std::string tables = bench::markdown(result, machine);
    const std::string values = json_text(to_json(result, machine), 2);
    fmt::print("{}\n", as_json ? values : tables);
    if (!result.verified())
      fail("nothing was timed; mdsm check compares layer by layer",
           "the native engine and its reference differ");
    if (!out_.empty()) write_file(out_, values + "\n");
    if (!markdown_.empty()) write_file(markdown_, tables);
    return 0;
  }

 private:
  void choose(const OptionSet& options) {
    bool one = options.given("batch");
    for (const char* name : {"net", "width", "channels", "size", "head", "levels", "blocks", "activation"})
      one = one || options.given(name);
    if (one && options.given("suite"))
      fail_usage("give one of the two", "--suite and the options of one network exclude each other");
    if (no_peer_ && (options.given("peer") || options.given("python")))
      fail_usage("give one of the two", "--no-peer excludes --peer and --python");
    bench_.threads = static_cast<int>(threads_);
    if (bench_.busy && (bench_.threads == 1 || (bench_.threads == 0 && hardware_threads() == 1)))
      fail_usage("give --threads 2 or more, or leave --busy out",
                 "--busy compares all threads with one, and there is one");
    bench_.configurations =
        one ? std::vector<bench::Configuration>{{network_.spec(options), batch_}} : bench::suite(suite_);
    const bool full = !one && suite_ == bench::Suite::full;
    bench_.growth = full && !bench_.verify_only;
    bench_.busy = bench_.busy || full;
    bench_.use_peer = !no_peer_;
    bench_.seed = static_cast<uint64_t>(seed_);
  }

  bench::BenchOptions bench_;
  app::NetworkOptions network_;
  bench::Suite suite_ = bench::Suite::quick;
  std::string out_, markdown_;
  int64_t batch_ = bench::Configuration().batch, seed_ = 0, threads_ = 0;
  bool no_peer_ = false, dry_run_ = false, worker_ = false;
};

}  // namespace

std::unique_ptr<Command> make_bench() { return std::make_unique<Bench>(); }

}  // namespace mdsm::cli

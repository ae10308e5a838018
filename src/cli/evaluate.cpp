// mdsm evaluate: FID, Inception score, KID, precision and recall of samples against a data set, or of every
// saved checkpoint of a run.
#include "app/evaluate.h"

#include "app/engine_options.h"
#include "app/output.h"
#include "app/sample.h"
#include "app/world.h"
#include "cli/command.h"
#include "core/error.h"
#include "core/stop_flag.h"
#include "data/data_options.h"

namespace mdsm::cli {
namespace {

class Evaluate : public Command {
 public:
  const char* name() const override { return "evaluate"; }
  const char* summary() const override {
    return "Measure samples against a data set: FID, Inception score, KID, precision, recall";
  }
  void declare(OptionSet& options) override;
  bool together() const override { return true; }
  int run(OptionSet& options) override;

 private:
  void declare_checkpoints(OptionSet& options);
  void check(const OptionSet& options) const;
  void choose_seeds(const OptionSet& options);

  app::EvaluateOptions evaluate_;
  app::SamplerChoice sampler_;
  eval::Metrics metrics_;
  std::vector<std::string> checkpoint_names_;  // options that belong to --checkpoints
  std::string seeds_;
  int64_t n_ = 1000;
};

void Evaluate::declare_checkpoints(OptionSet& options) {
  const nlohmann::json before = options.to_json();
  options
      .add("checkpoints", evaluate_.checkpoints,
           "instead: every ema-N.safetensors of this run folder, and mark the best by FID")
      .meta("RUN");
  options.add("n", n_, "with --checkpoints: samples of each, seeds 0 to n-1").range(2, 1e7);
  options.add("seeds", seeds_, "with --checkpoints: which, as in 0-63,70").meta("SEEDS");
  sampler_.declare(options, {"multistep", "fast", "annealed", "ode"});
  const nlohmann::json after = options.to_json();
  for (const auto& [name, value] : after.items())
    if (!before.contains(name)) checkpoint_names_.push_back(name);
}

void Evaluate::declare(OptionSet& options) {
  options.group("Samples");
  options
      .add("samples", evaluate_.samples,
           "folder of mdsm sample, samples.npy, a folder of images, or any data source")
      .meta("SOURCE");
  declare_checkpoints(options);
  data::declare_data_options(options, evaluate_.data, {.random_limit = true, .apart = true});
  options
      .add("statistics", evaluate_.statistics, "FID against the mu and sigma of this file instead of --data")
      .meta("FILE.npz");
  evaluate_.features.declare(options, "the one of --data");
  options.group("Measures");
  metrics_.declare(options);
  options.add("real", evaluate_.real,
              "also FID of as many images of the other split: what a perfect model would have");
  options.add("seed", evaluate_.seed, "of all that is random: data, subsets of KID, images of precision")
      .range(0);
  evaluate_.use.declare_engine(options);
  options.group("Output");
  options.add("out", evaluate_.out, "also write the JSON to a file").meta("FILE.json");
  options
      .add("save-statistics", evaluate_.save_statistics,
           "mu and sigma (float64, n-1) of the reference, for --statistics")
      .meta("FILE.npz");
  options
      .add("save-features", evaluate_.save_features,
           "folder for features and probabilities of both sets as .npy")
      .meta("FOLDER");
  options.add("force", evaluate_.force, "replace files").command_line_only();
  options.example("mdsm evaluate --samples samples --data fashion-mnist");
  options.example("mdsm evaluate --samples samples --data cifar10 --features inception-2015-12-05.pt");
  options.example("mdsm evaluate --checkpoints runs/00000 -n 1000 --sampler fast --data fashion-mnist");
}

void Evaluate::check(const OptionSet& options) const {
  const bool of_run = !evaluate_.checkpoints.empty();
  if (evaluate_.samples.empty() != of_run)
    fail_usage("name what is to be measured", "give one of --samples and --checkpoints");
  const auto refuse = [&](std::initializer_list<const char*> names, bool wanted, const std::string& why) {
    for (const char* name : names)
      if (!wanted && options.given(name)) fail_usage("leave it out", "--{} {}", name, why);
  };
  for (const std::string& name : checkpoint_names_)
    refuse({name.c_str()}, of_run, "without --checkpoints, which draws samples");
  if (evaluate_.data.source.empty() == evaluate_.statistics.empty())
    fail_usage("name what samples are compared with", "give one of --data and --statistics");
  refuse({"split", "subset", "crop", "resize"}, evaluate_.statistics.empty(),
         "without --data; it is not for the samples");
  refuse({"engine", "exact"}, of_run, "without --checkpoints, which runs a model");
  refuse({"device", "batch"}, of_run || !evaluate_.features.script.empty(),
         "without --checkpoints or --features");
  if (of_run && evaluate_.data.colour == data::Colour::apart)
    fail_usage("draw samples with mdsm sample and give them as --samples",
               "--colour apart with --checkpoints");
  evaluate_.features.check();
  if (!evaluate_.statistics.empty() && !evaluate_.save_statistics.empty())
    fail_usage("leave one out", "--save-statistics of what --statistics has read");
  for (const std::string& path : {evaluate_.out, evaluate_.save_statistics}) {
    if (path.empty()) continue;
    app::check_folder_of(path);
    app::check_output(path, evaluate_.force);
  }
}

void Evaluate::choose_seeds(const OptionSet& options) {
  evaluate_.seeds = app::chosen_seeds(n_, options.given("n"), seeds_);
  if (evaluate_.seeds.size() < 2) fail_usage("give more", "a single seed");
}

int Evaluate::run(OptionSet& options) {
  check(options);
  evaluate_.world = world;
  evaluate_.use.engine.device = app::own_device(*world, evaluate_.use.engine.device);
  app::use_threads(evaluate_.use.threads);
  evaluate_.data.seed = static_cast<uint64_t>(evaluate_.seed);
  app::check_same(*world, app::comparable(options.to_json()));
  const StopFlag stop;
  app::Evaluate job(evaluate_, metrics_, stop.flag());
  const bool of_run = !evaluate_.checkpoints.empty();
  if (of_run) {
    const network::Model last = job.last_checkpoint();
    choose_seeds(options);
    sampler_.resolve(options, last.info);
  }
  const app::EvaluateResult result = job.run(of_run ? &sampler_ : nullptr);
  if (!world->first()) return 0;
  as_json ? app::print_json(to_json(result)) : print(result, metrics_);
  if (!result.complete)
    fail("see the rows; those that are there are good", "not every checkpoint of {} could be measured",
         evaluate_.checkpoints);
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_evaluate() { return std::make_unique<Evaluate>(); }

}  // namespace mdsm::cli

// mdsm neighbours: samples beside the training images nearest to them, and whether they are nearer than they
// should be; in pixels, and in the space of a feature network when one is named.
#include "app/neighbours.h"

#include "app/model_use.h"
#include "cli/command.h"
#include "cli/show.h"
#include "core/error.h"
#include "data/data_options.h"

namespace mdsm::cli {
namespace {

class NeighboursCommand : public Command {
 public:
  const char* name() const override { return "neighbours"; }
  const char* summary() const override {
    return "Find the training images nearest to samples; a test of memorisation";
  }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  void take_samples(const OptionSet& options);
  void check(const OptionSet& options) const;

  std::string by_place_;
  app::NeighboursOptions job_;
};

void NeighboursCommand::declare(OptionSet& options) {
  options.group("Samples");
  options.add("of", by_place_, "the samples, as by --samples").meta("SAMPLES").positional();
  options
      .add("samples", job_.samples,
           "folder of mdsm sample, samples.npy, a folder of images, or any data source")
      .meta("SOURCE")
      .unsaved();
  data::declare_data_options(options, job_.data, {.random_limit = true, .apart = true});
  options.add("held-out", job_.held_out, "images to compare with; without it the test split of --data")
      .meta("SOURCE");
  options.add("held-out-limit", job_.held_out_limit, "only a random subset of so many of those; 0 = all")
      .range(0);
  options.add("no-held-out", job_.no_held_out, "neighbours only, no test of memorisation");
  options.group("Search");
  options.add("k", job_.k, "neighbours of each sample").range(1, 1000);
  options
      .add("quantile", job_.quantile,
           "of the held-out images' nearest distances, against which samples are counted")
      .above(0);
  options.add("seed", job_.seed, "of random subsets").range(0, 1e9);
  options.add("threads", job_.threads, "CPU threads; 0 takes all").range(0, 1024);
  job_.features.declare(options, "pixels only");
  options.add("device", job_.device, "with --features: where its network runs, cpu or cuda or cuda:K")
      .meta("DEVICE");
  options.group("Output");
  options
      .add("out", job_.out,
           "folder for figure.png, figure.svg, histogram.svg (and those of features) and "
           "neighbours.json")
      .meta("FOLDER");
  options.add("rows", job_.rows, "samples in the figure").range(1, 1000);
  options.add("scale", job_.scale, "size of a pixel in the figure").range(1, 16);
  options.add("force", job_.force, "replace the results in the folder").command_line_only();
  options.example(
      "mdsm neighbours --samples samples --data fashion-mnist --classifier fashion-mnist --out neighbours");
}

void NeighboursCommand::take_samples(const OptionSet& options) {
  if (!by_place_.empty() && options.given("samples"))
    fail_usage("leave one out", "mdsm neighbours: samples by --samples {} and by place, {}", job_.samples,
               by_place_);
  if (!by_place_.empty()) job_.samples = by_place_;
  if (job_.samples.empty())
    fail_usage("name a folder of mdsm sample, as in --samples samples",
               "mdsm neighbours: --samples is missing");
}

void NeighboursCommand::check(const OptionSet& options) const {
  if (!(job_.quantile < 1)) fail_usage("use a number between 0 and 1", "--quantile: {}", job_.quantile);
  if (job_.no_held_out && !job_.held_out.empty())
    fail_usage("leave one out", "--held-out and --no-held-out exclude each other");
  for (const char* name : {"held-out-limit", "quantile"})
    if (job_.no_held_out && options.given(name))
      fail_usage("leave one out", "--{} has no meaning with --no-held-out", name);
  if (job_.features.script.empty() && options.given("device"))
    fail_usage("leave it out", "--device without --features");
  job_.features.check();
}

int NeighboursCommand::run(OptionSet& options) {
  take_samples(options);
  check(options);
  job_.recorded = options.to_json();
  const app::NeighboursResult found = app::run_neighbours(job_);
  show(found, as_json);
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_neighbours() { return std::make_unique<NeighboursCommand>(); }

}  // namespace mdsm::cli

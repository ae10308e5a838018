// mdsm sample: draws images from a model.
#include "app/sample.h"

#include "app/world.h"
#include "cli/command.h"
#include "cli/show.h"
#include "core/error.h"
#include "core/seeds.h"
#include "core/stop_flag.h"

namespace mdsm::cli {
namespace {

class Sample : public Command {
 public:
  const char* name() const override { return "sample"; }
  const char* summary() const override { return "Draw images from a model"; }

  void declare(OptionSet& options) override {
    sample_.use.declare_model(options);
    options.group("Samples");
    options.add("n", n_, "how many; seeds 0 to n-1").range(1, 1e7);
    options.add("seeds", seeds_, "which, as in 0-63,70; a seed always gives the same image").meta("SEEDS");
    options
        .add("size", sample_.size,
             "unet: size of the images, in pixels, as in 48x40; the model's own without")
        .meta("WIDTHxHEIGHT");
    sampler_.declare(options, sample::samplers().names());
    sample_.use.declare_engine(options);
    options.group("Output");
    options.add("out", sample_.out, "folder for grid.png, samples.npy, samples.json, trace.svg")
        .meta("FOLDER");
    options.add("each", sample_.each, "also every sample as a PNG of its own, images/SEED.png");
    options.add("trajectory", sample_.trajectory,
                "also the way of the first 8: trajectory.png (noisy row, denoised row) and animation.png");
    options.add(
        "live", sample_.live,
        "also live-noisy.png and live-denoised.png, the images as they form, rewritten a few times a second");
    options.add("columns", sample_.columns, "columns of the grid; 0 = as many as rows, or as classes")
        .range(0, 1000);
    options.add("scale", sample_.scale, "size of a pixel in the pictures").range(1, 16);
    options.add("resume", sample_.resume, "go on with the samples that the folder lacks").command_line_only();
    options.add("force", sample_.force, "replace the samples in the folder").command_line_only();
    options.example("mdsm sample --model runs/00000 -n 64 --out samples");
    options.example("mdsm sample --model cifar10 --classes horse,ship -n 20 --out samples");
    options.example("mdsm sample --model model.safetensors --seeds 0-9,42 --each --trajectory");
  }

  bool together() const override { return true; }

  int run(OptionSet& options) override {
    sample_.world = world;
    sample_.use.engine.device = app::own_device(*world, sample_.use.engine.device);
    if (options.given("seeds") && seeds_.empty()) parse_seeds(seeds_, "--seeds");  // says what is wrong
    if (options.given("size") && sample_.size.empty())
      fail_usage("write it as in 48x40, or leave it out", "--size is empty");
    sample_.seeds = app::chosen_seeds(n_, options.given("n"), seeds_);
    if (sample_.resume && sample_.force) fail_usage("choose one", "--resume and --force exclude each other");
    const network::Model model = sample_.use.load();
    sampler_.resolve(options, model.info);
    const StopFlag stop;
    const app::SampleResult result = app::run_sample(sample_, model, sampler_, stop.flag());
    if (world->first()) show(result, as_json);
    return 0;
  }

 private:
  app::SampleOptions sample_;
  app::SamplerChoice sampler_;
  std::string seeds_;
  int64_t n_ = 64;
};

}  // namespace

std::unique_ptr<Command> make_sample() { return std::make_unique<Sample>(); }

}  // namespace mdsm::cli

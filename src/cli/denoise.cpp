// mdsm denoise: removes noise of a level it is not told, in one jump or in several steps.
#include "app/denoise.h"

#include "app/world.h"
#include "cli/command.h"
#include "cli/picture_options.h"
#include "core/error.h"
#include "core/stop_flag.h"

namespace mdsm::cli {
namespace {

class Denoise : public Command {
 public:
  const char* name() const override { return "denoise"; }
  const char* summary() const override { return "Remove noise of unknown strength from pictures"; }

  void declare(OptionSet& options) override {
    declare_pictures(options, denoise_.pictures);
    options.group("Denoising");
    options
        .add(
            "steps", denoise_.denoise.steps,
            "1: one jump, best for weak noise; more: partial steps before it, sharper, and better for strong "
            "noise")
        .range(1, 100000);
    options
        .add("strength", denoise_.denoise.strength,
             "part of the noise found that is removed: below 1 leaves some grain, above 1 smooths more")
        .range(0, 2);
    options.add("share", denoise_.denoise.share, "part of the noise that each partial step removes")
        .range(0.01, 1);
    options
        .add(
            "add-noise", denoise_.add_noise,
            "put Gaussian noise of this strength on the pictures first, and compare with median and Gaussian "
            "filters")
        .range(0, 100);
    options.add("seed", denoise_.seed, "of the added noise, and of data drawn at random").range(0, 9e15);
    declare_picture_output(options, denoise_.pictures);
    options.example("mdsm denoise photo.jpg --out clean    # by photos, or photos-grey");
    options.example("mdsm denoise noisy/ --model runs/00000 --out clean");
    options.example(
        "mdsm denoise --data fashion-mnist --split test --limit 8 --model runs/00000 --add-noise 0.3");
  }

  bool together() const override { return true; }

  int run(OptionSet& options) override {
    denoise_.pictures.world = world;
    denoise_.pictures.use.engine.device = app::own_device(*world, denoise_.pictures.use.engine.device);
    app::check_same(*world, app::comparable(options.to_json()));
    if (denoise_.denoise.steps == 1 && options.given("share"))
      fail_usage("use --steps 2 or more with it", "--share has no meaning for one jump");
    const StopFlag stop;
    const app::DenoiseResult result = app::run_denoise(denoise_, stop.flag());
    if (world->first()) show(result, as_json);
    return 0;
  }

 private:
  app::DenoiseOptions denoise_;
};

}  // namespace

std::unique_ptr<Command> make_denoise() { return std::make_unique<Denoise>(); }

}  // namespace mdsm::cli

// mdsm inpaint: fills in missing parts of pictures, several times each.
#include "app/complete.h"
#include "cli/command.h"
#include "cli/picture_options.h"
#include "core/error.h"
#include "core/stop_flag.h"

namespace mdsm::cli {
namespace {

class Inpaint : public Command {
 public:
  const char* name() const override { return "inpaint"; }
  const char* summary() const override { return "Fill in missing parts of pictures"; }

  void declare(OptionSet& options) override {
    declare_pictures(options, inpaint_.pictures);
    declare_missing(options, inpaint_.missing);
    options.group("Completions");
    options.add("n", inpaint_.completions, "completions of each picture").range(1, 10000);
    options.add("seed", inpaint_.seed, "of the first completion, and of --random-missing").range(0, 9e15);
    sampler_.declare(options, {"fast", "annealed"});
    declare_window(options, inpaint_.pictures);
    declare_picture_output(options, inpaint_.pictures);
    options.example("mdsm inpaint photo.png --mask mask.png --model runs/00000 -n 4");
    options.example(
        "mdsm inpaint --data fashion-mnist --split test --limit 8 --box 8,8,16,16 --model runs/00000");
  }

  int run(OptionSet& options) override {
    choose_missing(options, inpaint_.missing);
    if (options.given("coarse") && sampler_.name() != "fast")
      fail_usage("it belongs to --sampler fast", "--coarse has no meaning for --sampler {}", sampler_.name());
    inpaint_.sampling = app::chosen_sampling(sampler_, options);
    const StopFlag stop;
    show(app::run_complete(inpaint_, stop.flag()), as_json);
    return 0;
  }

 private:
  app::CompleteOptions inpaint_;
  app::SamplerChoice sampler_;
};

}  // namespace

std::unique_ptr<Command> make_inpaint() { return std::make_unique<Inpaint>(); }

}  // namespace mdsm::cli

// mdsm train: starts a run in a new folder, or goes on with one. The job is in app/train.
#include "app/train.h"

#include "app/model_use.h"
#include "cli/command.h"
#include "cli/show.h"
#include "core/log.h"
#include "core/stop_flag.h"

namespace mdsm::cli {
namespace {

class Train : public Command {
 public:
  const char* name() const override { return "train"; }
  const char* summary() const override { return "Train an energy model, or resume a run"; }

  void declare(OptionSet& options) override {
    options.example("mdsm train --data photos --crop 140 --resize 32");
    options.example("mdsm train --data fashion-mnist --steps 2400");
    options.example("mdsm train --recipe paper --data cifar10 --micro-batch 32");
    options.example("mdsm train --resume runs/00000-fashion-mnist-res12-w16");
    setup_.declare(options);
  }

  bool together() const override { return true; }

  int run(OptionSet& options) override {
    setup_.job.world = world;
    setup_.job.quiet = quiet || !world->first();
    set_quiet(setup_.job.quiet);
    setup_.resolve(options);
    if (setup_.dry_run) {
      const app::TrainingPlan plan = app::plan_training(setup_.job, setup_.objective());
      if (world->first()) show(plan, as_json);
      return 0;
    }
    const StopFlag stop;
    const app::TrainingResult result = app::run_training(setup_.job, setup_.objective(), stop.flag());
    if (world->first() && as_json) app::print_json(to_json(result));
    return 0;
  }

 private:
  app::TrainingSetup setup_;
};

}  // namespace

std::unique_ptr<Command> make_train() { return std::make_unique<Train>(); }

}  // namespace mdsm::cli

// mdsm train: starts a run in a new folder, or goes on with one. The job is in app/train.
#include "app/train.h"

#include "app/engine_options.h"
#include "cli/command.h"
#include "core/error.h"
#include "core/log.h"
#include "core/stop_flag.h"
#include "data/data_options.h"
#include "train/resume_options.h"
#include "train/run_folder.h"

namespace mdsm::cli {
namespace {

class Train : public Command {
 public:
  const char* name() const override { return "train"; }
  const char* summary() const override { return "Train an energy model, or resume a run"; }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  void declare_saving(OptionSet& options);
  void resolve(OptionSet& options);

  nlohmann::json defaults_;
  app::TrainingOptions job_;
  train::ObjectiveChoice objectives_;
  bool dry_run_ = false;
};

void Train::declare(OptionSet& options) {
  options.example("mdsm train --data fashion-mnist --width 16 --steps 2400 --lr 1e-3");
  options.example("mdsm train --preset cifar10 --data cifar-10-binary.tar.gz --micro-batch 32");
  options.example("mdsm train --resume runs/00000-fashion-mnist-res12-w16");
  data::DeclareData which;
  which.flip = true;
  data::declare_data_options(options, job_.data, which);
  train::declare_train_options(options, job_.train, objectives_);
  declare_saving(options);
  app::declare_engine_options(options, job_.engine, job_.threads);
  options.accept_config();
  defaults_ = options.to_json();
}

void Train::declare_saving(OptionSet& options) {
  options.group("Saving");
  options.add("outdir", job_.outdir, "where the numbered run folder is made").meta("FOLDER");
  options.add("desc", job_.desc, "a word for the end of the run folder's name");
  options
      .add("resume", job_.resume,
           fmt::format(
               "go on with this run; steps, lr*, warmup, clip, micro-batch, *-every, engine, device and "
               "threads may change, and {}",
               fmt::join(objectives_.may_change(), ", ")))
      .meta("RUN")
      .command_line_only();
  options
      .add("stop-after", job_.stop_after, "save and stop after so many steps of this call; 0 = go to the end")
      .range(0, 1e9)
      .command_line_only();
  options.add("dry-run", dry_run_, "print options, network and memory; write nothing").command_line_only();
  options.add("quiet", job_.quiet, "only warnings and errors on standard error").command_line_only();
}

// From what was given to all values: a preset for a new run, options.json for a resumed one.
void Train::resolve(OptionSet& options) {
  if (job_.resume.empty()) {
    train::apply_preset(options, job_.train.preset, job_.data.source);
    objectives_.resolve(options);
  } else {
    train::apply_recorded(options, objectives_, train::RunFolder::recorded_options(job_.resume), defaults_,
                          job_.resume + "/options.json");
  }
  if (job_.data.source.empty())
    fail_usage("name a data set or a path, as in --data fashion-mnist", "mdsm train: --data is missing");
  objectives_.chosen().validate(job_.train);
  validate(job_.train);
  job_.data.seed = static_cast<uint64_t>(job_.train.seed);
  job_.recorded = options.to_json();
  job_.options_hash = train::options_hash(job_.recorded, defaults_, objectives_);
}

int Train::run(OptionSet& options) {
  set_quiet(job_.quiet);
  resolve(options);
  if (dry_run_) {
    print(app::plan_training(job_, objectives_.chosen()));
    return 0;
  }
  const StopFlag stop;
  app::run_training(job_, objectives_.chosen(), stop.flag());
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_train() { return std::make_unique<Train>(); }

}  // namespace mdsm::cli

// mdsm restore: linear inverse problems with a model that was trained for none of them.
#include "app/restore.h"

#include "app/complete.h"
#include "cli/command.h"
#include "cli/picture_options.h"
#include "core/error.h"
#include "core/stop_flag.h"

namespace mdsm::cli {
namespace {

enum class Task { superres, deblur, missing };
constexpr auto enum_names(Task) {
  return names_of<Task>({{Task::superres, "superres"}, {Task::deblur, "deblur"}, {Task::missing, "missing"}});
}

class Restore : public Command {
 public:
  const char* name() const override { return "restore"; }
  const char* summary() const override { return "Enlarge, deblur or complete pictures"; }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  void check_task(const OptionSet& options) const;
  app::CompleteOptions completion() const;

  Task task_ = Task::superres;
  app::RestoreOptions restore_;
  app::MissingOptions missing_;
  app::SamplerChoice sampler_;
};

void Restore::declare(OptionSet& options) {
  declare_pictures(options, restore_.pictures);
  options.group("Task");
  options.add("task", task_, "what was lost: resolution, sharpness or pixels").required();
  options
      .add("factor", restore_.factor,
           "superres: pixels of the result for one of the picture, along each side")
      .range(2, 16);
  options
      .add("kernel", restore_.kernel,
           "deblur: the blur, as box:PIXELS, gaussian:SIGMA, or an .npy or image file")
      .meta("KERNEL");
  options.add("threshold", restore_.threshold, "deblur: frequencies weakened to less than this count as lost")
      .range(0.0001, 1);
  options.add("degrade", restore_.degrade,
              "superres, deblur: spoil the pictures first, and compare with them at the end");
  declare_missing(options, missing_);
  options.group("Results");
  options.add("n", restore_.results, "results for each picture").range(1, 10000);
  options.add("seed", restore_.seed, "of the first result, and of --random-missing").range(0, 9e15);
  options.add(
      "start", restore_.start,
      "superres, deblur: from noise, as samples start, or from what was measured, with noise 0.2 and in 8 "
      "evaluations; automatic: measured for pictures in windows");
  sampler_.declare(options, {"fast"});
  declare_window(options, restore_.pictures);
  declare_picture_output(options, restore_.pictures);
  options.example("mdsm restore small.png --task superres --factor 2 --model runs/00000");
  options.example(
      "mdsm restore --data fashion-mnist --split test --limit 8 --task deblur --kernel gaussian:1.5 "
      "--degrade "
      "--model runs/00000");
}

void Restore::check_task(const OptionSet& options) const {
  const auto only = [&](const char* option, bool wanted, const char* owner) {
    if (!wanted && options.given(option))
      fail_usage(fmt::format("it belongs to --task {}", owner), "--{} has no meaning for --task {}", option,
                 to_string(task_));
  };
  only("factor", task_ == Task::superres, "superres");
  only("kernel", task_ == Task::deblur, "deblur");
  only("threshold", task_ == Task::deblur, "deblur");
  only("degrade", task_ != Task::missing, "superres and deblur");
  only("start", task_ != Task::missing, "superres and deblur");
  for (const char* option : {"mask", "box", "random-missing", "coarse"})
    only(option, task_ == Task::missing, "missing");
}

app::CompleteOptions Restore::completion() const {
  return {"restore", restore_.pictures, missing_, restore_.sampling, restore_.results, restore_.seed};
}

int Restore::run(OptionSet& options) {
  check_task(options);
  restore_.sampling = app::chosen_sampling(sampler_, options);
  if (task_ == Task::missing) choose_missing(options, missing_);
  const StopFlag stop;
  if (task_ == Task::missing) {
    show(app::run_complete(completion(), stop.flag()), as_json);
    return 0;
  }
  restore_.task = task_ == Task::superres ? app::RestoreTask::superres : app::RestoreTask::deblur;
  show(app::run_restore(restore_, stop.flag()), as_json);
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_restore() { return std::make_unique<Restore>(); }

}  // namespace mdsm::cli

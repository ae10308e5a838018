#include <mdsm/train.h>

#include <algorithm>
#include <array>

#include "api/settings.h"
#include "app/train.h"
#include "core/error.h"
#include "core/threads.h"

namespace mdsm {
namespace {

// Options of `mdsm train` that TrainOptions has itself, or that make no sense for images of the caller's.
constexpr std::array kNotForCallers = {"data",   "split",   "limit", "crop",   "resize",
                                       "pad",    "colour",  "desc",  "out",    "outdir",
                                       "resume", "dry-run", "quiet", "config", "set"};

void check_names(const Settings& settings) {
  for (const auto& [name, value] : settings)
    if (std::ranges::find(kNotForCallers, name) != kNotForCallers.end())
      fail_usage("leave it out; TrainOptions has what there is to choose", "setting '{}' has no meaning here",
                 name);
}

// Hands progress on. A stop, or what the caller's function throws, ends training after the step at work,
// with all saved.
class Told : public train::TrainObserver {
 public:
  Told(const OnProgress& progress, int64_t steps) : progress_(progress), steps_(steps) {}
  void on_step(int64_t done, const train::StepResult& result) override {
    if (!progress_ || stop) return;
    try {
      if (!progress_({done, steps_, result.loss})) stop = true;
    } catch (...) {
      thrown = std::current_exception();
      stop = true;
    }
  }

  std::atomic<bool> stop = false;
  std::exception_ptr thrown;

 private:
  const OnProgress& progress_;
  int64_t steps_;
};

// A job sets the number of threads for the whole process; afterwards it is what it was.
class KeepThreads {
 public:
  KeepThreads() : before_(thread_count()) {}
  ~KeepThreads() { set_thread_count(before_); }
  KeepThreads(const KeepThreads&) = delete;
  KeepThreads& operator=(const KeepThreads&) = delete;

 private:
  int before_;
};

}  // namespace

Trained train_model(const Dataset& images, const TrainOptions& options) {
  check_names(options.settings);
  OptionSet set("train", "");
  app::TrainingSetup setup;
  setup.declare(set);
  api::apply(set, options.settings);
  if (options.resume.empty()) {
    set.set("data", options.name);
    set.set("out", options.outdir);
  } else {
    setup.job.resume = options.resume;
  }
  setup.resolve(set);
  app::TrainingOptions& job = setup.job;
  job.quiet = true;
  // The process's own, unless the caller asks for others; a resumed run's do not count here.
  const bool own_threads =
      std::ranges::any_of(options.settings, [](const auto& one) { return one.first == "threads"; });
  const KeepThreads keep;
  if (!own_threads) job.threads = thread_count();
  job.own_data = &images;
  job.own_test = options.test;
  Told told(options.progress, job.train.schedule.steps);
  job.observer = &told;
  const app::TrainingResult result = app::run_training(job, setup.objective(), told.stop);
  if (told.thrown) std::rethrow_exception(told.thrown);
  return {result.folder.string(), result.model.string(), result.step, result.steps};
}

}  // namespace mdsm

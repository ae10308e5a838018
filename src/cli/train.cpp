// mdsm train: starts a run in a new folder, or goes on with one. All logic is in src/train.
#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "app/engine_options.h"
#include "app/version.h"
#include "core/error.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/stop_flag.h"
#include "core/threads.h"
#include "data/data_options.h"
#include "core/memory.h"
#include "train/session.h"

namespace mdsm::cli {
namespace {

// The bar on a terminal; lines for log.txt, which standard error does not get while the loop runs.
class Display : public train::TrainObserver {
 public:
  // pixels: values of an image, which is the denoising loss of an energy that is flat
  Display(int64_t total, int64_t first, int64_t pixels, bool likelihood)
      : progress_("train", total, "steps", first),
        flat_loss_(0.97 * static_cast<double>(pixels)),
        likelihood_(likelihood) {}
  void on_step(int64_t done, const train::StepResult& result) override {
    progress_.update(done, fmt::format("loss {:.1f}", result.loss));
  }
  void on_stats(const train::StatsRecord& r) override {
    const auto& q = r.loss_quarters;
    log_info(
        "step {}: loss {:.2f}{}, energy of data {:.1f}, of {} {:.1f}, gradient {:.3g}, rate {:.3g}, {}{:.0f} "
        "images/s",
        r.step, r.loss,
        likelihood_ ? "" : fmt::format(" ({:.1f} {:.1f} {:.1f} {:.1f})", q[0], q[1], q[2], q[3]),
        r.energy_data, likelihood_ ? "samples" : "noise", r.energy_noise, r.grad_norm, r.lr,
        std::isnan(r.effective) ? "" : fmt::format("{:.0f} % of images count, ", 100 * r.effective),
        r.images_per_s);
    if (likelihood_ || warned_ || r.step < kFlatSteps || r.loss < flat_loss_) return;
    log_warning("the loss is {:.0f} after {} steps, that of a flat energy; if it stays there, {}", r.loss,
                r.step, "start again with a smaller --lr or another --seed");
    warned_ = true;
  }

 private:
  static constexpr int64_t kFlatSteps = 150;  // most runs have left the flat start by then
  Progress progress_;
  double flat_loss_;
  bool likelihood_, warned_ = false;
};

class Train : public Command {
 public:
  const char* name() const override { return "train"; }
  const char* summary() const override { return "Train an energy model, or resume a run"; }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  void resolve(OptionSet& options);
  std::optional<size_t> memory_need(const network::Spec& spec) const;
  void check_memory(const network::Spec& spec) const;
  void print_plan(const OptionSet& options, const network::Spec& spec, const data::Dataset& data) const;
  int work(const OptionSet& options, const train::SessionInput& input);

  nlohmann::json defaults_;
  data::DataOptions data_;
  train::TrainOptions train_;
  engine::EngineOptions engine_;
  int64_t threads_ = 0, stop_after_ = 0;
  std::string outdir_ = "runs", desc_, resume_;
  bool dry_run_ = false, quiet_ = false;
};

void Train::declare(OptionSet& options) {
  options.example("mdsm train --data fashion-mnist --width 16 --steps 2400 --lr 1e-3");
  options.example("mdsm train --preset cifar10 --data cifar-10-binary.tar.gz --micro-batch 32");
  options.example("mdsm train --resume runs/00000-fashion-mnist-res12-w16");
  data::DeclareData which;
  which.flip = true;
  data::declare_data_options(options, data_, which);
  train::declare_train_options(options, train_);
  options.group("Saving");
  options.add("outdir", outdir_, "where the numbered run folder is made").meta("FOLDER");
  options.add("desc", desc_, "a word for the end of the run folder's name");
  options
      .add("resume", resume_,
           "go on with this run; steps, lr*, warmup, clip, micro-batch, *-every, engine, device and threads "
           "may change, and ml-steps, ml-eps and ml-energy-l2")
      .meta("RUN")
      .command_line_only();
  options.add("stop-after", stop_after_, "save and stop after so many steps of this call; 0 = go to the end")
      .range(0, 1e9)
      .command_line_only();
  options.add("dry-run", dry_run_, "print options, network and memory; write nothing").command_line_only();
  options.add("quiet", quiet_, "only warnings and errors on standard error").command_line_only();
  app::declare_engine_options(options, engine_, threads_);
  options.accept_config();
  defaults_ = options.to_json();
}

// From what was given to all values: a preset for a new run, options.json for a resumed one.
void Train::resolve(OptionSet& options) {
  if (resume_.empty())
    train::apply_preset(options, train_, data_.source);
  else
    train::apply_recorded(options, train::RunFolder::recorded_options(resume_), defaults_, resume_ + "/options.json");
  if (data_.source.empty())
    fail_usage("name a data set or a path, as in --data fashion-mnist", "mdsm train: --data is missing");
  validate(train_);
  data_.seed = static_cast<uint64_t>(train_.seed);
}

std::optional<size_t> Train::memory_need(const network::Spec& spec) const {
  constexpr int64_t kBatches = 8;  // held ready by the loader, clean and noisy ones in use
  const auto training = engine::memory_need(engine_, spec, train_.micro());
  if (!training) return std::nullopt;
  const auto preview = engine::memory_need(engine_, spec, 10);
  const auto images = [&](int64_t n) { return static_cast<size_t>(spec.input(n).count()) * sizeof(float); };
  const size_t chains = train_.keeps_chains() ? 2 * images(train_.ml.buffer) : 0;  // and as they were resumed
  return training->parameters + training->training + preview->parameters + preview->gradient +
         images(kBatches * train_.batch) + chains;
}

void Train::check_memory(const network::Spec& spec) const {
  const std::optional<size_t> need = memory_need(spec);
  const size_t available = available_memory();
  if (need && available > 0 && *need > available)
    fail(fmt::format("use --micro-batch {} or less, or a smaller --width",
                     std::max<int64_t>(1, train_.micro() / 2)),
         "training needs about {} of memory, {} are available", bytes_text(*need), bytes_text(available));
}

void Train::print_plan(const OptionSet& options, const network::Spec& spec, const data::Dataset& data) const {
  fmt::print("{}\n", options.to_json().dump(2));
  fmt::print("data:       {}\n", data.description());
  fmt::print("network:    {}\n", to_json(spec).dump());
  fmt::print("parameters: {}\n", network::parameter_count(spec));
  if (const auto need = memory_need(spec)) fmt::print("memory:     {}\n", bytes_text(*need));
}

int Train::run(OptionSet& options) {
  set_quiet(quiet_);
  resolve(options);
  set_thread_count(static_cast<int>(threads_));
  const std::string name = train::run_name(data_.source, train_.network, train_.width, desc_);
  const auto data = data::open_dataset(data_);
  const network::Spec spec = train::make_spec(train_, data->image_shape());
  if (dry_run_) {
    print_plan(options, spec, *data);
    return 0;
  }
  check_memory(spec);
  // All that can be refused comes before the folder, so that a refused run leaves nothing behind.
  const auto seed = static_cast<uint64_t>(train_.seed);
  const auto engine = engine::make_engine(engine_, network::Parameters::initialised(spec, seed));
  data::DataOptions test = data_;
  test.split = data::Split::test;
  const auto shown = train_.preview_every > 0 ? data::open_dataset(test) : nullptr;
  train::Preview preview(shown ? *shown : *data, spec, train_.noise, seed, engine_);
  train::RunFolder folder = resume_.empty() ? train::RunFolder::create(outdir_, name, options.to_json(), app::version_text())
                                     : train::RunFolder::open(resume_);
  const train::SessionInput input{folder,
                           *engine,
                           *data,
                           preview,
                           train_,
                           data_.flip,
                           train::source_name(data_.source),
                           train::options_hash(options.to_json(), defaults_)};
  return work(options, input);
}

int Train::work(const OptionSet& options, const train::SessionInput& input) {
  const train::RunFolder& folder = input.folder;
  const LogFile log(folder.log());
  const train::StateHead start = train::resume_state(input);
  const int64_t end = train_.schedule.steps;
  if (start.step >= end) {
    log_info("{}: finished, all {} steps are done; --steps N goes further", folder.path().string(),
             start.step);
    return 0;
  }
  if (!resume_.empty()) folder.write_options(options.to_json());

  log_info("{}: {}", folder.path().string(),
           start.step > 0 ? fmt::format("going on after step {} of {}", start.step, end)
                          : fmt::format("training {} steps", end));
  const network::Spec& spec = input.engine.spec();
  const auto need = memory_need(spec);
  log_info("{}; {} width {}, {} parameters; engine {}, {} threads, {}", input.data.description(),
           train_.network, train_.width, network::parameter_count(spec), input.engine.name(), thread_count(),
           need ? "about " + bytes_text(*need) + " of memory" : "memory need unknown");
  const StopFlag stop;
  set_quiet(true);
  int64_t done = 0;
  try {
    Display display(end, start.step, spec.input(1).count(), train_.objective == "ml");
    done = train::train(input, start, stop_after_, stop.flag(), display);
  } catch (const Error& error) {
    log_info("error: {}", error.what());  // for log.txt; main tells the user
    throw;
  }
  set_quiet(quiet_);
  if (done >= end)
    log_info("done: {} steps; the model is {}", done, folder.ema().string());
  else
    log_info("stopped after step {} of {}, all is saved; go on with: mdsm train --resume {}", done, end,
             folder.path().string());
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_train() { return std::make_unique<Train>(); }

}  // namespace mdsm::cli

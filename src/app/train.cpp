#include "app/train.h"

#include <algorithm>
#include <bit>

#include "app/engine_options.h"
#include "app/training_start.h"
#include "app/version.h"
#include "app/world.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/progress.h"
#include "core/threads.h"
#include "data/fingerprint.h"
#include "train/session.h"

namespace mdsm::app {
namespace {

// How far it is, unless that is not wanted; lines for log.txt, which standard error does not get while the
// loop runs.
class Display : public train::TrainObserver {
 public:
  Display(const train::Objective& objective, const network::Spec& spec, int64_t total, int64_t first,
          bool quiet)
      : objective_(objective),
        flat_loss_(objective.flat_loss(spec)),
        progress_("train", total, "steps", first),
        quiet_(quiet) {}
  void on_step(int64_t done, const train::StepResult& result) override {
    if (!quiet_) progress_.update(done, fmt::format("loss {:.1f}", result.loss));
  }
  void on_stats(const train::StatsRecord& r) override {
    log_info("step {}: {}", r.step, objective_.log_line(r));
    if (warned_ || !flat_loss_ || r.step < kFlatSteps || r.loss < kNearlyFlat * *flat_loss_) return;
    log_warning("the loss is {:.0f} after {} steps, that of a flat energy; if it stays there, {}", r.loss,
                r.step, "start again with a smaller --lr or another --seed");
    warned_ = true;
  }

 private:
  static constexpr int64_t kFlatSteps = 150;  // most runs have left the flat start by then
  static constexpr double kNearlyFlat = 0.97;
  const train::Objective& objective_;
  std::optional<double> flat_loss_;
  Progress progress_;
  bool quiet_, warned_ = false;
};

std::optional<size_t> memory_need(const TrainingOptions& options, const train::Objective& objective,
                                  const network::Spec& spec) {
  constexpr int64_t kBatches = 8;  // held ready by the loader, clean and noisy ones in use
  const auto training = engine::memory_need(options.engine, spec, options.train.micro());
  if (!training) return std::nullopt;
  const auto preview = engine::memory_need(options.engine, spec, train::Preview::kImages);
  const auto batches =
      static_cast<size_t>(spec.input(kBatches * options.train.batch).count()) * sizeof(float);
  // Gradients of shards: one for each level of their tree, and the next.
  const auto kept =
      options.train.shards > 1 ? std::bit_width(static_cast<uint64_t>(options.train.shards)) : 0;
  const auto sums = static_cast<size_t>(kept * network::parameter_count(spec)) * sizeof(float);
  return training->training_weights + training->training + preview->weights + preview->gradient + batches +
         sums + objective.memory(spec);
}

void check_memory(std::optional<size_t> need, int64_t micro_batch) {
  const size_t available = available_memory();
  if (need && available > 0 && *need > available)
    fail(fmt::format("use --micro-batch {} or less, or a smaller --width",
                     std::max<int64_t>(1, micro_batch / 2)),
         "training needs about {} of memory, {} are available", bytes_text(*need), bytes_text(available));
}

// The images that a run sees: the caller's, which are not owned, or those of the source.
using TrainingImages = std::shared_ptr<const data::Dataset>;
TrainingImages not_owned(const data::Dataset* images) {
  return {images, [](const data::Dataset*) {}};
}

TrainingImages training_data(const TrainingOptions& options) {
  return options.own_data ? not_owned(options.own_data) : data::open_dataset(options.data);
}

TrainingImages preview_data(const TrainingOptions& options, const TrainingImages& training) {
  if (options.own_test) return not_owned(options.own_test);
  if (options.own_data || options.train.preview_every == 0) return training;
  data::DataOptions test = options.data;
  test.split = data::Split::test;
  return data::open_dataset(test);
}

void log_start(const TrainingOptions& options, const train::SessionInput& input, int64_t step,
               std::optional<size_t> need) {
  const int64_t end = options.train.schedule.steps;
  log_info("{}: {}", input.folder->path().string(),
           step > 0 ? fmt::format("going on after step {} of {}", step, end)
                    : fmt::format("training {} steps{}", end,
                                  input.init.empty() ? "" : " from the weights of " + input.init));
  const std::string processes =
      input.world.alone() ? "" : fmt::format("{} processes of ", input.world.size());
  log_info("{}; {} width {}, {} parameters; engine {}, {}{} threads, {}", input.data.description(),
           to_string(options.train.network), options.train.width,
           network::parameter_count(input.engine.spec()), input.engine.name(), processes, thread_count(),
           need ? "about " + bytes_text(*need) + " of memory" : "memory need unknown");
}

void log_end(const TrainingResult& result) {
  if (result.finished())
    log_info("done: {} steps; the model is {}; draw from it with: mdsm sample --model {}", result.step,
             result.model.string(), result.folder.string());
  else
    log_info("stopped after step {} of {}, all is saved; go on with: mdsm train --resume {}", result.step,
             result.steps, result.folder.string());
}

TrainingResult train_in_folder(const TrainingOptions& options, const train::SessionInput& input,
                               std::optional<size_t> need, const std::atomic<bool>& stop) {
  const train::RunFolder& folder = *input.folder;
  const LogFile log(folder.log());
  const train::StateHead start = train::resume_state(input);  // a run that is refused stays as it is
  try {
    TrainingResult result{folder.path(), folder.ema(), start.step, start.step, options.train.schedule.steps};
    if (result.finished()) {
      log_info("{}: finished, all {} steps are done; --steps N goes further", folder.path().string(),
               start.step);
      return result;
    }
    if (!options.resume.empty()) folder.write_options(options.recorded);
    if (!options.job.empty()) folder.write_job(options.job);
    log_start(options, input, start.step, need);
    set_quiet(true);
    {
      std::optional<Display> display;
      if (!options.observer)
        display.emplace(input.objective, input.engine.spec(), result.steps, start.step, options.quiet);
      result.step =
          train::train(input, start, options.stop_after, stop, display ? *display : *options.observer);
    }
    set_quiet(options.quiet);
    log_end(result);
    return result;
  } catch (const Error& error) {
    set_quiet(true);
    log_info("error: {}", error.what());  // for log.txt; the caller tells the user
    throw;
  }
}

// On ranks other than 0, which write nothing.
TrainingResult train_along(const TrainingOptions& options, const train::SessionInput& input,
                           const std::atomic<bool>& stop) {
  const train::StateHead start = train::resume_state(input);
  TrainingResult result{{}, {}, start.step, start.step, options.train.schedule.steps};
  train::TrainObserver silent;
  if (!result.finished()) result.step = train::train(input, start, options.stop_after, stop, silent);
  return result;
}

// What must be the same on all ranks for their gradients to belong together; returns the fingerprint of the
// data.
std::string check_ranks(const TrainingOptions& options, const data::Dataset& data,
                        const network::Parameters& weights) {
  distributed::Communicator& world = *options.world;
  if (world.alone()) return "";
  train::shards_of_process(options.train.shards, world.size(), world.rank());  // for what it refuses
  nlohmann::json same = comparable(options.recorded);
  check_same(world, same);
  const std::string hash = data::fingerprint(data);
  const auto values = weights.values();
  check_same(world, {{"fingerprint of the data", hash},
                     {"hash of the first weights", content_hash(values.data(), values.size_bytes())}});
  return hash;
}

train::RunFolder open_folder(const TrainingOptions& options) {
  if (!options.resume.empty()) return train::RunFolder::open(options.resume);
  const std::string name = train::run_name(options.data.source, to_string(options.train.network),
                                           options.train.width, options.desc);
  return train::RunFolder::create(options.outdir, name, options.recorded, version_text());
}

}  // namespace

TrainingPlan plan_training(const TrainingOptions& options, const train::Objective& objective) {
  use_threads(options.threads);
  const TrainingImages data = training_data(options);
  const network::Spec spec = train::make_spec(options.train, data->image_shape());
  if (options.start) starting_weights(options, spec);  // for what it refuses
  return {options.recorded, data->description(), spec, network::parameter_count(spec),
          memory_need(options, objective, spec)};
}

nlohmann::json to_json(const TrainingPlan& plan) {
  nlohmann::json values = {{"options", plan.options},
                           {"data", plan.data},
                           {"network", to_json(plan.spec)},
                           {"parameters", plan.parameters}};
  if (plan.memory) values["memory"] = *plan.memory;
  return values;
}

nlohmann::json to_json(const TrainingResult& result) {
  return {{"folder", result.folder.string()},
          {"model", result.model.string()},
          {"first_step", result.first_step},
          {"step", result.step},
          {"steps", result.steps},
          {"finished", result.finished()}};
}

void print(const TrainingPlan& plan) {
  fmt::print("{}\n", json_text(plan.options, 2));
  fmt::print("data:       {}\n", plan.data);
  fmt::print("network:    {}\n", json_text(to_json(plan.spec)));
  fmt::print("parameters: {}\n", plan.parameters);
  if (plan.memory) fmt::print("memory:     {}\n", bytes_text(*plan.memory));
}

TrainingResult run_training(const TrainingOptions& options, train::Objective& objective,
                            const std::atomic<bool>& stop) {
  set_quiet(options.quiet);
  use_threads(options.threads);
  train::run_name(options.data.source, to_string(options.train.network), options.train.width,
                  options.desc);  // for what it refuses
  const TrainingImages data = training_data(options);
  const network::Spec spec = train::make_spec(options.train, data->image_shape());
  const std::optional<size_t> need = memory_need(options, objective, spec);
  check_memory(need, options.train.micro());
  // All that can be refused comes before the folder, so that a refused run leaves nothing behind.
  const auto seed = static_cast<uint64_t>(options.train.seed);
  const network::Parameters weights = starting_weights(options, spec);
  engine::EngineOptions place = options.engine;
  place.device = own_device(*options.world, place.device);
  const auto engine = engine::make_engine(place, weights);
  const TrainingImages shown = preview_data(options, data);
  const train::NoiseOptions usual = train::preset_noise(options.train.preset, options.data.source);
  train::Preview preview(*shown, spec, objective.preview_noise(usual), seed, place);
  const std::string data_hash = check_ranks(options, *data, weights);
  std::optional<train::RunFolder> folder;
  if (options.world->first()) folder.emplace(open_folder(options));
  const train::SessionInput input{folder ? &*folder : nullptr,
                                  *engine,
                                  *data,
                                  preview,
                                  options.train,
                                  objective,
                                  options.data.flip,
                                  train::source_name(options.data.source),
                                  options.options_hash,
                                  train::model_name(options.init),
                                  std::string(to_string(options.engine.precision)),
                                  *options.world,
                                  data_hash};
  return folder ? train_in_folder(options, input, need, stop) : train_along(options, input, stop);
}

}  // namespace mdsm::app

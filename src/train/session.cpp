#include "train/session.h"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "core/json.h"
#include "core/log.h"
#include "data/fingerprint.h"
#include "network/model_file.h"
#include "sample/model_defaults.h"
#include "train/loss_plot.h"
#include "train/tfevents.h"

namespace mdsm::train {
namespace {

using nlohmann::json;
using Clock = std::chrono::steady_clock;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}
double unix_time() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

// What later commands need to know; nothing of the clock, so that equal runs give equal files.
json model_info(const SessionInput& in, const StateHead& head, const char* kind) {
  const TrainOptions& o = in.options;
  json trained = {
      {"data", in.data_name}, {"images", in.data.size()},       {"objective", in.objective.name()},
      {"step", head.step},    {"steps", o.schedule.steps},      {"batch", o.batch},
      {"seed", o.seed},       {"loss", head.meter.last_mean()}, {"kind", kind}};
  if (!in.init.empty()) trained["init"] = in.init;
  if (in.precision != "float32") trained["precision"] = in.precision;
  trained.update(in.objective.trained());
  json sampling = in.objective.sampling(o);
  sampling.update(sample::model_defaults(o.sampling, "--sampling"));
  return {{"preset", to_string(o.preset)}, {"trained", trained}, {"sampling", sampling}};
}

void save_model_file(const SessionInput& in, const StateHead& head, engine::StateVector which,
                     const fs::path& path) {
  network::Parameters parameters(in.engine.spec());
  in.engine.read(which, parameters.values());
  network::save_model(path, parameters,
                      model_info(in, head, which == engine::StateVector::ema ? "ema" : "weights"));
}

// The state comes last: while it is the old one, whatever is newer beside it will be written again.
void checkpoint(const SessionInput& in, const StateHead& head, StatsFile& stats) {
  stats.flush();
  if (head.step > 0)
    write_file(in.folder->plot(), loss_plot(in.folder->stats(), in.folder->path().filename().string(),
                                            in.objective.loss_panel(in.options)));
  save_model_file(in, head, engine::StateVector::weights, in.folder->weights());
  save_model_file(in, head, engine::StateVector::ema, in.folder->ema());
  keep_state(in.folder->state(), in.folder->earlier_state());
  save_state(in.folder->state(), in.engine, in.objective, head);
}

// The failing step is a function of the state alone, so going on from right before it would fail again: the
// last regular checkpoint stays the one that --resume takes, and the state before the failure is kept beside.
[[noreturn]] void stop_not_finite(const SessionInput& in, const StateHead& head, int64_t saved_step,
                                  const StepResult& bad) {
  if (!in.folder) fail("rank 0 says what to do", "step {}: loss or gradient is not finite", head.step + 1);
  save_state(in.folder->failed_state(), in.engine, in.objective, head);
  const bool weights_bad = !state_is_finite(in.engine);
  fail(fmt::format("the step was not applied and the state before it is in {}; go on from the checkpoint of "
                   "step {} with a smaller rate, mdsm train --resume {} --lr {:g}, or with --clip 1",
                   in.folder->failed_state().string(), saved_step, in.folder->path().string(),
                   in.options.schedule.lr / 2),
       "step {}: {} is not finite (loss {}, gradient norm {}{})", head.step + 1,
       std::isfinite(bad.loss) ? "the gradient" : "the loss", bad.loss, bad.grad_norm,
       weights_bad ? ", weights not finite either" : "");
}

// An event file has no way to say that there is no such number.
EventFile::Scalars scalars(const StatsRecord& r) {
  EventFile::Scalars all = {{"loss/mean", r.loss},
                            {"loss/last", r.loss_last},
                            {"train/grad_norm", r.grad_norm},
                            {"train/lr", r.lr},
                            {"train/images_per_s", r.images_per_s}};
  for (const Statistic& own : r.own)
    for (size_t i = 0; i < own.values.size(); ++i)
      all.emplace_back(own.values.size() == 1 ? own.tag : fmt::format("{}{}", own.tag, i + 1), own.values[i]);
  std::erase_if(all, [](const auto& scalar) { return std::isnan(scalar.second); });
  return all;
}

// Steps that the files beside a missing state show: none where a kill came before the first checkpoint.
int64_t steps_shown(const RunFolder& folder) {
  int64_t steps = 0;
  if (fs::exists(folder.stats()))
    for (const StatsRecord& record : read_stats(folder.stats())) steps = std::max(steps, record.step);
  for (const fs::path& path : {folder.weights(), folder.ema()}) {
    if (!fs::exists(path)) continue;
    const json trained = network::load_model(path).info.value("trained", json());
    if (trained.is_object() && trained.contains("step") && trained.at("step").is_number_unsigned())
      steps = std::max(steps, json_value<int64_t>(trained.at("step")));
  }
  return steps;
}

// Starting again would overwrite what has been trained.
void check_nothing_is_lost(const RunFolder& folder) {
  if (fs::exists(folder.earlier_state()))
    fail(fmt::format("rename {} to {} to go on from the checkpoint before it",
                     folder.earlier_state().filename().string(), folder.state().filename().string()),
         "{}: missing, but the run has been trained", folder.state().string());
  if (const int64_t steps = steps_shown(folder); steps > 0)
    fail("put it back, or start a new run, from these weights by --init if you like",
         "{}: missing, but the run has been trained for {} steps", folder.state().string(), steps);
}

}  // namespace

namespace {

StateHead new_head(const SessionInput& in) {
  StateHead head;
  head.seed = in.options.seed;
  head.options_hash = in.options_hash;
  head.data_size = in.data.size();
  head.data_hash = in.data_hash.empty() ? data::fingerprint(in.data) : in.data_hash;
  return head;
}

StateHead loaded_head(const SessionInput& in, const StateFile& file) {
  const StateHead now = new_head(in);
  StateHead head = file.head();
  if (head.options_hash != in.options_hash)
    fail("put the file back as it was, or start a new run",
         "{}: the options differ from those the run was started with", in.folder->options().string());
  if (head.data_size != in.data.size())
    fail("give it the same data", "the data now has {} images, the run was started with {}", in.data.size(),
         head.data_size);
  if (head.data_hash.empty()) head.data_hash = now.data_hash;
  if (head.data_hash != now.data_hash)
    fail("give it the same data", "the data has other images than the run was started with: {}",
         in.data.description());
  return head;
}

StateHead resume_from_folder(const SessionInput& in) {
  StateHead head;
  if (!fs::exists(in.folder->state())) {
    check_nothing_is_lost(*in.folder);
    head = new_head(in);
  } else {
    const StateFile file(in.folder->state(), in.engine.spec());
    head = loaded_head(in, file);
    file.load(in.engine, in.objective);
  }
  cut_stats(in.folder->stats(), head.step);
  return head;
}

// The others have no folder: rank 0 sends them the file as it is.
StateHead resume_from_rank_0(const SessionInput& in, const std::string& bytes) {
  if (bytes.empty()) return new_head(in);
  const StateFile file("the state that rank 0 sent", bytes, in.engine.spec());
  file.load(in.engine, in.objective);
  return file.head();
}

}  // namespace

StateHead resume_state(const SessionInput& in) {
  if (in.world.alone()) return resume_from_folder(in);
  if (!in.folder) return resume_from_rank_0(in, in.world.broadcast(""));
  const StateHead head = resume_from_folder(in);
  in.world.broadcast(fs::exists(in.folder->state()) ? read_text(in.folder->state()) : "");
  return head;
}

namespace {

// What rank 0 writes while a run goes on.
class Files {
 public:
  Files(const SessionInput& in, const StateHead& start)
      : in_(in),
        stats_(in.folder->stats()),
        events_(in.folder->path(), unix_time(), start.step),
        saved_step_(start.step),
        line_step_(start.step) {
    if (!fs::exists(in.folder->state())) checkpoint(in, start, stats_);
  }

  StatsRecord line(StateHead& head) {
    StatsRecord record = head.meter.take(head.step);
    record.seconds = head.seconds;
    record.time = unix_time();
    record.images_per_s =
        static_cast<double>((head.step - line_step_) * in_.options.batch) / seconds_since(line_begin_);
    stats_.append(record);
    events_.add(record.time, record.step, scalars(record));
    line_begin_ = Clock::now();
    line_step_ = head.step;
    return record;
  }
  void preview(int64_t step) {
    const fs::path png = in_.folder->preview(step);
    in_.preview.write(png, in_.engine);
    events_.add_picture(unix_time(), step, "preview", read_text(png));
  }
  void save(const StateHead& head) {
    checkpoint(in_, head, stats_);
    saved_step_ = head.step;
  }
  int64_t saved_step() const { return saved_step_; }

 private:
  const SessionInput& in_;
  StatsFile stats_;
  EventFile events_;
  int64_t saved_step_, line_step_;
  Clock::time_point line_begin_ = Clock::now();
};

}  // namespace

int64_t train(const SessionInput& in, const StateHead& start, int64_t stop_after,
              const std::atomic<bool>& stop, TrainObserver& observer) {
  const TrainOptions& o = in.options;
  const int64_t end = o.schedule.steps;
  StateHead head = start;
  Trainer trainer(in.engine, in.data, o, in.objective, in.flip, start.step, observer, in.world);
  std::optional<Files> files;
  if (in.folder) files.emplace(in, start);

  const auto begin = Clock::now();
  const auto due = [&](int64_t step, int64_t every) {
    return every > 0 && (step % every == 0 || step == end);
  };
  bool stopping = in.world.any(stop);  // all of them, or none
  while (head.step < end && !stopping) {
    const StepResult result = trainer.take_step(due(head.step + 1, o.stats_every));
    head.seconds = start.seconds + seconds_since(begin);
    if (!result.applied) stop_not_finite(in, head, files ? files->saved_step() : 0, result);
    head.meter.add(result);
    head.step = trainer.step();
    stopping = in.world.any(stop) || (stop_after > 0 && head.step - start.step >= stop_after);
    if (!files) continue;

    if (due(head.step, o.stats_every)) observer.on_stats(files->line(head));
    if (due(head.step, o.preview_every)) files->preview(head.step);
    if (due(head.step, o.snapshot_every))
      save_model_file(in, head, engine::StateVector::ema, in.folder->snapshot(head.step));
    if (due(head.step, o.save_every) || head.step == end || stopping) files->save(head);
  }
  if (in.folder && !in.world.alone() && head.step > start.step) {
    const auto steps = static_cast<double>(head.step - start.step);
    log_info("a step took {:.4g} s, {:.4g} of it waiting for gradients of other processes; {:.0f} bytes sent",
             seconds_since(begin) / steps, trainer.waited() / steps,
             static_cast<double>(in.world.bytes_sent()) / steps);
  }
  in.world.barrier();  // nobody is done before the last checkpoint is on the disk
  return head.step;
}

}  // namespace mdsm::train

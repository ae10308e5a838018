// mdsm sample: draws images from a model, in batches that each are kept as soon as they are finished.
#include <algorithm>
#include <chrono>
#include <cmath>

#include "cli/command.h"
#include "app/model_use.h"
#include "app/output.h"
#include "app/sampler_options.h"
#include "core/error.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/seeds.h"
#include "core/stop_flag.h"
#include "image/animation.h"
#include "image/image.h"
#include "report/energy_fit.h"
#include "report/recorder.h"
#include "report/sample_store.h"
#include "sample/diagnostics.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

constexpr size_t kTrajectories = 8;    // samples whose way is shown
constexpr int64_t kStripColumns = 12;  // steps of it
constexpr int64_t kMaxOnGrid = 1024;   // samples on grid.png

double mean(const auto& values) {
  double sum = 0;
  for (const auto value : values) sum += static_cast<double>(value);
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

class Sample : public Command {
 public:
  const char* name() const override { return "sample"; }
  const char* summary() const override { return "Draw images from a model"; }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  void resolve_seeds(const OptionSet& options);
  report::SampleSet draw_batch(engine::TrainableEnergy& engine, std::span<const uint64_t> seeds, int64_t before,
                       report::Trajectory& trajectory, Progress& progress, const std::atomic<bool>& stop) const;
  void draw_all(engine::TrainableEnergy& engine, report::SampleStore& store, report::Trajectory& trajectory);
  json summary_of(const report::SampleSet& set) const;
  void write_pictures(const report::SampleSet& set, const json& parameters) const;
  void write_trajectory(const report::Trajectory& trajectory, const json& parameters) const;
  void print(const json& found, double seconds, int64_t drawn) const;

  app::ModelUse use_;
  app::SamplerOptions sampler_;
  std::string seeds_text_, out_ = "samples";
  int64_t n_ = 64, columns_ = 0, scale_ = 2;
  bool each_ = false, trajectory_ = false, resume_ = false, force_ = false, json_ = false;
  std::vector<uint64_t> seeds_;
};

void Sample::declare(OptionSet& options) {
  use_.declare_model(options);
  options.group("Samples");
  options.add("n", n_, "how many; seeds 0 to n-1").range(1, 1e7);
  options.add("seeds", seeds_text_, "which, as in 0-63,70; a seed always gives the same image").meta("SEEDS");
  sampler_.declare(options, {"annealed", "langevin", "mala", "hmc", "fast", "ode"});
  use_.declare_engine(options);
  options.group("Output");
  options.add("out", out_, "folder for grid.png, samples.npy, samples.json, trace.svg").meta("FOLDER");
  options.add("each", each_, "also every sample as a PNG of its own, images/SEED.png");
  options.add("trajectory", trajectory_,
              "also the way of the first 8: trajectory.png (noisy row, denoised row) and animation.png");
  options.add("columns", columns_, "columns of the grid; 0 = as many as rows").range(0, 1000);
  options.add("scale", scale_, "size of a pixel in the pictures").range(1, 16);
  options.add("resume", resume_, "go on with the samples that the folder lacks").command_line_only();
  options.add("force", force_, "replace the samples in the folder").command_line_only();
  options.add("json", json_, "print JSON for machines").command_line_only();
  options.example("mdsm sample --model runs/00000 -n 64 --sampler fast --out samples");
  options.example("mdsm sample --model model.safetensors --seeds 0-9,42 --each --trajectory");
}

void Sample::resolve_seeds(const OptionSet& options) {
  if (!options.given("seeds")) {
    for (int64_t i = 0; i < n_; ++i) seeds_.push_back(static_cast<uint64_t>(i));
    return;
  }
  seeds_ = parse_seeds(seeds_text_, "--seeds");
  if (options.given("n") && static_cast<size_t>(n_) != seeds_.size())
    fail_usage("give one of the two", "-n {}, but --seeds {} are {} seeds", n_, seeds_text_, seeds_.size());
}

// before: samples that this call has drawn already, for the display.
report::SampleSet Sample::draw_batch(engine::TrainableEnergy& engine, std::span<const uint64_t> seeds, int64_t before,
                             report::Trajectory& trajectory, Progress& progress,
                             const std::atomic<bool>& stop) const {
  const auto n = static_cast<int64_t>(seeds.size());
  report::TraceRecorder trace(engine.sigma0(), n);
  const auto observer = [&](const sample::StepReport& report) {
    trace.observe(report);
    if (trajectory_) trajectory.observe(report, seeds);
    progress.update(
        before + report.step * n / std::max<int64_t>(1, report.steps),
        fmt::format("step {} of {}, energy {:.4g}", report.step, report.steps, mean(report.energy)));
  };
  sample::Samples drawn = sampler_.draw({.model = engine, .seeds = seeds, .observer = observer, .stop = &stop});
  report::SampleSet set;
  if (drawn.stopped) return set;
  for (float& value : drawn.x.values()) value = std::clamp(value, 0.0f, 1.0f);
  for (size_t i = 0; i < seeds.size(); ++i)
    if (trajectory_ && trajectory.wants(seeds[i]))
      trajectory.finish(seeds[i], drawn.x.view().image(static_cast<int64_t>(i)));
  set.seeds.assign(seeds.begin(), seeds.end());
  set.x = std::move(drawn.x);
  set.energy = drawn.energy;
  set.sigma = drawn.sigma;
  set.evaluations = drawn.evaluations;
  set.acceptance.assign(drawn.acceptance.begin(), drawn.acceptance.end());
  set.step_size.assign(drawn.step_size.begin(), drawn.step_size.end());
  trace.store(set);
  if (!sampler_.fixed_temperature()) return set;
  set.draw_count = static_cast<int64_t>(drawn.energy_draws.size()) / n;
  for (int64_t i = 0; i < n; ++i)  // a row for each sample
    for (int64_t k = 0; k < set.draw_count; ++k)
      set.draws.push_back(drawn.energy_draws[static_cast<size_t>(k * n + i)]);
  return set;
}

// The samples whose way is to be shown come first, drawn again if need be.
void Sample::draw_all(engine::TrainableEnergy& engine, report::SampleStore& store, report::Trajectory& trajectory) {
  std::vector<uint64_t> todo, rest = store.missing(seeds_);
  for (const uint64_t seed : seeds_)
    if (trajectory_ && trajectory.wants(seed)) todo.push_back(seed);
  for (const uint64_t seed : rest)
    if (!trajectory_ || !trajectory.wants(seed)) todo.push_back(seed);
  if (todo.empty()) return;
  const StopFlag stop;
  const auto total = static_cast<int64_t>(todo.size());
  Progress progress("sampling", total, "images");
  for (int64_t first = 0; first < total; first += use_.batch) {
    const auto count = static_cast<size_t>(std::min(use_.batch, total - first));
    const auto seeds = std::span(todo).subspan(static_cast<size_t>(first), count);
    report::SampleSet set = draw_batch(engine, seeds, first, trajectory, progress, stop.flag());
    if (!set.seeds.empty()) store.add(std::move(set));
    if (stop.flag() && !store.missing(seeds_).empty())
      fail("the same call with --resume goes on", "stopped; {} of {} samples are kept in {}",
           seeds_.size() - store.missing(seeds_).size(), seeds_.size(), out_);
  }
}

json Sample::summary_of(const report::SampleSet& set) const {
  int64_t evaluations = 0;
  for (const int64_t count : set.evaluations) evaluations += count;
  const auto n = static_cast<int64_t>(set.seeds.size());
  json found = {
      {"n", n},
      {"seeds", seeds_text(set.seeds)},
      {"sampler", sampler_.sampler()},
      {"steps", report::last_step(set)},
      {"gradient_evaluations", evaluations},
      {"gradient_evaluations_per_sample", static_cast<double>(evaluations) / static_cast<double>(n)},
      {"energy", mean(set.energy)},
      {"noise_level", mean(set.sigma)}};
  if (!set.acceptance.empty()) {
    found["acceptance"] = mean(set.acceptance);
    found["step_size"] = mean(set.step_size);
  }
  if (const auto fit = report::fit_energy(set))
    found["energy_against_temperature"] = {
        {"slope", fit->slope},
        {"half_pixels", static_cast<double>(set.x.shape().per_image()) / 2},
        {"r2", fit->r2},
        {"exponent", std::isfinite(fit->exponent) ? json(fit->exponent) : json()},
        {"energy_at_end", fit->end},
        {"temperatures", {fit->low, fit->high}}};
  if (set.draw_count == 0) return found;
  std::vector<float> by_draw(set.draws.size());
  for (int64_t i = 0; i < n; ++i)
    for (int64_t k = 0; k < set.draw_count; ++k)
      by_draw[static_cast<size_t>(k * n + i)] = set.draws[static_cast<size_t>(i * set.draw_count + k)];
  const sample::ChainDiagnostics chains = sample::diagnose(by_draw, n);
  found["r_hat"] = std::isfinite(chains.r_hat) ? json(chains.r_hat) : json();
  found["ess"] = std::isfinite(chains.ess) ? json(chains.ess) : json();
  found["draws"] = set.draw_count;
  return found;
}

void Sample::write_pictures(const report::SampleSet& set, const json& parameters) const {
  const fs::path out = out_;
  const int64_t n = set.x.shape().n, shown = std::min(n, kMaxOnGrid);
  const auto square = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(shown))));
  const std::span<const uint64_t> on_grid(set.seeds.data(), static_cast<size_t>(shown));
  image::write_png(out / "grid.png", image::grid(set.x.view().images(0, shown), columns_ > 0 ? columns_ : square, scale_),
            app::picture_text(parameters, {{"Seeds", seeds_text(on_grid)}}));
  write_file(out / "trace.svg", report::trace_plot(set, fmt::format("{}: {} samples", sampler_.sampler(), n)));
  if (const auto fit = report::fit_energy(set))
    write_file(out / "energy.svg",
               report::energy_plot(set, *fit, fmt::format("{}: {} samples while cooling", sampler_.sampler(), n)));
  if (!each_) return;
  make_folder(out / "images");
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t seed = set.seeds[static_cast<size_t>(i)];
    image::write_png(out / "images" / fmt::format("{:06}.png", seed), image::to_image(set.x.view().images(i, 1)),
              app::picture_text(parameters, {{"Seeds", std::to_string(seed)}}));
  }
}

void Sample::write_trajectory(const report::Trajectory& trajectory, const json& parameters) const {
  image::write_png(fs::path(out_) / "trajectory.png", trajectory.strips(kStripColumns, scale_),
            app::picture_text(parameters, {{"Rows", "for each sample: noisy, denoised"}}));
  image::write_animation(fs::path(out_) / "animation.png", trajectory.frames(scale_));
}

void Sample::print(const json& found, double seconds, int64_t drawn) const {
  if (json_) {
    json values = found;
    values["out"] = out_;
    values["drawn"] = drawn;
    values["seconds"] = seconds;
    return app::print_json(values);
  }
  fmt::print("samples      {} ({} drawn now), seeds {}\n", found["n"].get<int64_t>(), drawn,
             found["seeds"].get<std::string>());
  fmt::print("sampler      {}, {} steps, {:.1f} gradient evaluations a sample\n", sampler_.sampler(),
             found["steps"].get<int64_t>(), found["gradient_evaluations_per_sample"].get<double>());
  fmt::print("energy       {:.6g}\nnoise level  {:.4g} before the last jump\n", found["energy"].get<double>(),
             found["noise_level"].get<double>());
  if (found.contains("energy_against_temperature")) {
    const json& fit = found["energy_against_temperature"];
    fmt::print("cooling      energy falls by {:.4g} for each unit of T (pixels/2 = {}), R² {:.4f}\n",
               fit["slope"].get<double>(), fit["half_pixels"].get<double>(), fit["r2"].get<double>());
  }
  if (found.contains("acceptance"))
    fmt::print("acceptance   {:.3f}, step size {:.4g}\n", found["acceptance"].get<double>(),
               found["step_size"].get<double>());
  if (found.contains("r_hat")) {
    const auto number = [&](const char* key) {
      return found[key].is_number() ? found[key].get<double>() : NAN;
    };
    fmt::print("R-hat        {:.4f} (energy, {} draws a chain)\nESS          {:.1f}\n", number("r_hat"),
               found["draws"].get<int64_t>(), number("ess"));
  }
  if (drawn > 0)
    fmt::print("time         {}, {:.3g} images/s\n", duration_text(seconds),
               static_cast<double>(drawn) / seconds);
  fmt::print("written      {}\n", (fs::path(out_) / "grid.png").string());
}

int Sample::run(OptionSet& options) {
  resolve_seeds(options);
  if (resume_ && force_) fail_usage("choose one", "--resume and --force exclude each other");
  const network::Model model = use_.load();
  sampler_.resolve(options, model);
  json parameters = sampler_.parameters(options);
  parameters.update(app::model_parameters(use_.model, model));
  parameters["command"] = "sample";

  report::SampleStore store(out_, parameters, resume_, force_);
  const auto count = static_cast<int64_t>(seeds_.size());
  const auto engine = use_.make(model, std::min(use_.batch, count));
  report::Trajectory trajectory(
      *engine,
      {seeds_.begin(), seeds_.begin() + static_cast<int64_t>(std::min(seeds_.size(), kTrajectories))});
  const auto todo = static_cast<int64_t>(store.missing(seeds_).size());
  const auto start = std::chrono::steady_clock::now();
  store.begin();
  draw_all(*engine, store, trajectory);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  const report::SampleSet all = store.all(seeds_);
  const json found = summary_of(all);
  store.finish(all, found);
  write_pictures(all, parameters);
  if (trajectory_) write_trajectory(trajectory, parameters);
  print(found, seconds, todo);
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_sample() { return std::make_unique<Sample>(); }

}  // namespace mdsm::cli

#include "app/sample.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "app/world.h"
#include "core/error.h"
#include "core/json.h"
#include "core/mean.h"
#include "core/progress.h"
#include "core/seeds.h"
#include "image/animation.h"
#include "image/image.h"
#include "image/mask.h"
#include "report/live_view.h"
#include "report/recorder.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

constexpr size_t kTrajectories = 8;    // samples whose way is shown
constexpr int64_t kStripColumns = 12;  // steps of it
constexpr int64_t kMaxOnGrid = 1024;   // samples on grid.png

std::vector<uint64_t> first_of(const std::vector<uint64_t>& seeds, size_t count) {
  return {seeds.begin(), seeds.begin() + static_cast<int64_t>(std::min(seeds.size(), count))};
}

// Those of the classes, which go in turn by seed, that these seeds show.
std::vector<std::string> shown_classes(const std::vector<std::string>& turn,
                                       std::span<const uint64_t> seeds) {
  std::vector<std::string> shown;
  for (size_t place = 0; place < turn.size(); ++place)
    if (std::ranges::any_of(seeds, [&](uint64_t seed) { return seed % turn.size() == place; }))
      shown.push_back(turn[place]);
  return shown;
}

class SampleJob {
 public:
  SampleJob(const SampleOptions& options, const network::Model& model, const SamplerChoice& sampler,
            const std::atomic<bool>& stop)
      : options_(options),
        sampler_(sampler),
        stop_(stop),
        parameters_(parameters_of(options, model, sampler)),
        world_(*options.world),
        batch_(batch_of(options, model)),
        model_(options.use.make(model, batch_, image_shape(options, model))),
        guide_(sampler.make_guide(options.use, batch_, image_shape(options, model))),
        attraction_(sampler.make_attraction(image_shape(options, model))),
        trajectory_(*model_, first_of(options.seeds, kTrajectories)) {
    check_same(world_, same());
    if (world_.first()) store_.emplace(options.out, parameters_, options.resume, options.force);
    if (world_.first() && options.live) live_.emplace(options.out, *model_, options.scale);
  }

  SampleResult run();

 private:
  static Shape image_shape(const SampleOptions& options, const network::Model& model);
  static int64_t batch_of(const SampleOptions& options, const network::Model& model);
  static json parameters_of(const SampleOptions& options, const network::Model& model,
                            const SamplerChoice& sampler);
  json same() const;
  report::SampleSet draw_batch(std::span<const uint64_t> seeds, int64_t before, Progress& progress);
  std::vector<uint64_t> todo() const;
  void keep(report::SampleSet own);
  void draw_all();
  SampleSummary summary_of(const report::SampleSet& set) const;
  void write_pictures(const report::SampleSet& set, const SampleSummary& summary) const;

  const SampleOptions& options_;
  const SamplerChoice& sampler_;
  const std::atomic<bool>& stop_;
  json parameters_;
  distributed::Communicator& world_;
  std::optional<report::SampleStore> store_;  // of rank 0
  int64_t batch_;
  std::unique_ptr<engine::EnergyModel> model_, guide_;
  sample::Attraction attraction_;
  report::Trajectory trajectory_;
  std::optional<report::LiveView> live_;  // of rank 0
};

json SampleJob::parameters_of(const SampleOptions& options, const network::Model& model,
                              const SamplerChoice& sampler) {
  json parameters = sampler.parameters();
  parameters.update(model_parameters(options.use.model, model));
  parameters["command"] = "sample";
  if (!options.size.empty()) {
    const Shape image = image_shape(options, model);
    parameters["size"] = fmt::format("{}x{}", image.w, image.h);
  }
  return parameters;
}

Shape SampleJob::image_shape(const SampleOptions& options, const network::Model& model) {
  Shape image = model.parameters.spec().input(1);
  if (options.size.empty()) return image;
  const image::PixelSize size = image::parse_size(options.size, "--size");
  image.h = size.height, image.w = size.width;
  return model.parameters.at_size(image.h, image.w).spec().input(1);  // says when the network has one size
}

// Few samples are shared evenly.
int64_t SampleJob::batch_of(const SampleOptions& options, const network::Model& model) {
  const auto seeds = static_cast<int64_t>(options.seeds.size()), ranks = int64_t{options.world->size()};
  return app::batch_of(image_shape(options, model), std::min(options.use.batch, (seeds + ranks - 1) / ranks));
}

// What all processes must have in common.
json SampleJob::same() const {
  json values = {{"list of seeds", seeds_text(options_.seeds)},
                 {"number of samples at a time", batch_},
                 {"choice of --trajectory", options_.trajectory}};
  for (const auto& [key, value] : parameters_.items())
    if (key != "model" && key != "guide" && key != "class-by")
      values[key] = value;  // paths of its own host; the hashes count
  return values;
}

// before: samples that this call has drawn already, for the display.
report::SampleSet SampleJob::draw_batch(std::span<const uint64_t> seeds, int64_t before, Progress& progress) {
  const auto n = static_cast<int64_t>(seeds.size());
  report::TraceRecorder trace(model_->sigma0(), n);
  const auto observer = [&](const sample::StepReport& report) {
    trace.observe(report);
    if (options_.trajectory) trajectory_.observe(report, seeds);
    if (live_) live_->observe(report, n);
    progress.update(
        before, n, report.done(),
        fmt::format("step {} of {}, energy {:.4g}", report.step, report.steps, mean(report.energy)));
  };
  sample::Samples drawn = sampler_.draw({.model = *model_,
                                         .seeds = seeds,
                                         .observer = observer,
                                         .stop = &stop_,
                                         .guide = guide_.get(),
                                         .attraction = attraction_});
  report::SampleSet set;
  if (drawn.stopped) return set;
  for (float& value : drawn.x.values()) value = std::clamp(value, 0.0f, 1.0f);
  for (size_t i = 0; i < seeds.size(); ++i)
    if (options_.trajectory && trajectory_.wants(seeds[i]))
      trajectory_.finish(seeds[i], drawn.x.view().image(static_cast<int64_t>(i)));
  set.seeds.assign(seeds.begin(), seeds.end());
  set.x = std::move(drawn.x);
  set.energy = drawn.energy;
  set.sigma = drawn.sigma;
  set.evaluations = drawn.evaluations;
  set.acceptance.assign(drawn.acceptance.begin(), drawn.acceptance.end());
  set.step_size.assign(drawn.step_size.begin(), drawn.step_size.end());
  trace.store(set);
  if (!sampler_.sampler().fixed_temperature()) return set;
  set.draw_count = static_cast<int64_t>(drawn.energy_draws.size()) / n;
  for (int64_t i = 0; i < n; ++i)  // a row for each sample
    for (int64_t k = 0; k < set.draw_count; ++k)
      set.draws.push_back(drawn.energy_draws[static_cast<size_t>(k * n + i)]);
  return set;
}

// The samples whose way is to be shown come first, drawn again if need be.
std::vector<uint64_t> SampleJob::todo() const {
  const bool shows = options_.trajectory;
  std::vector<uint64_t> found, rest = store_->missing(options_.seeds);
  std::ranges::copy_if(options_.seeds, std::back_inserter(found),
                       [&](uint64_t seed) { return shows && trajectory_.wants(seed); });
  std::ranges::copy_if(rest, std::back_inserter(found),
                       [&](uint64_t seed) { return !shows || !trajectory_.wants(seed); });
  return found;
}

// Rank 0 keeps the batches of all ranks; none where one was stopped.
void SampleJob::keep(report::SampleSet own) {
  if (world_.alone()) {
    if (!own.seeds.empty()) store_->add(std::move(own));
    return;
  }
  for (const std::string& bytes : world_.gather_first(own.seeds.empty() ? "" : report::to_bytes(own)))
    if (!bytes.empty()) store_->add(report::sample_set(bytes));
}

// In rounds of a batch for every rank. Those whose way is to be shown are rank 0's.
void SampleJob::draw_all() {
  const std::vector<uint64_t>& seeds = options_.seeds;
  const std::string list = world_.broadcast(store_ ? seeds_text(todo()) : "");
  if (list.empty()) return;
  const std::vector<uint64_t> all = store_ ? todo() : parse_seeds(list, "the seeds of rank 0");
  const auto total = static_cast<int64_t>(all.size());
  const int64_t alone = options_.trajectory ? static_cast<int64_t>(std::min(kTrajectories, all.size())) : 0;
  Progress progress("sampling", total, "images");
  for (int64_t first = 0, end = 0; first < total; first = end) {
    const int64_t ranks = first < alone ? 1 : world_.size();
    end = std::min(first < alone ? alone : total, first + ranks * batch_);
    const int64_t own = std::min(end, first + world_.rank() * batch_), count = std::min(batch_, end - own);
    report::SampleSet set;
    if (count > 0 && world_.rank() < ranks)
      set = draw_batch(std::span(all).subspan(static_cast<size_t>(own), static_cast<size_t>(count)), first,
                       progress);
    keep(std::move(set));
    if (!world_.any(stop_)) continue;
    const std::string left = world_.broadcast(store_ ? std::to_string(store_->missing(seeds).size()) : "");
    if (const size_t missing = std::stoul(left); missing > 0)
      fail("the same call with --resume goes on", "stopped; {} of {} samples are kept in {}",
           seeds.size() - missing, seeds.size(), options_.out);
  }
}

SampleSummary SampleJob::summary_of(const report::SampleSet& set) const {
  SampleSummary found;
  found.n = static_cast<int64_t>(set.seeds.size());
  found.seeds = seeds_text(set.seeds);
  found.sampler = sampler_.name();
  found.classes = shown_classes(sampler_.classes(), set.seeds);
  found.steps = report::last_step(set);
  for (const int64_t count : set.evaluations) found.evaluations += count;
  found.energy = mean(set.energy);
  found.noise_level = mean(set.sigma);
  if (!set.acceptance.empty()) {
    found.acceptance = mean(set.acceptance);
    found.step_size = mean(set.step_size);
  }
  found.cooling = report::fit_energy(set);
  found.half_pixels = static_cast<double>(set.x.shape().per_image()) / 2;
  if (set.draw_count == 0) return found;
  std::vector<float> by_draw(set.draws.size());
  for (int64_t i = 0; i < found.n; ++i)
    for (int64_t k = 0; k < set.draw_count; ++k)
      by_draw[static_cast<size_t>(k * found.n + i)] = set.draws[static_cast<size_t>(i * set.draw_count + k)];
  found.chains = sample::diagnose(by_draw, found.n);
  return found;
}

void SampleJob::write_pictures(const report::SampleSet& set, const SampleSummary& summary) const {
  const fs::path out = options_.out;
  const int64_t n = summary.n, shown = std::min(n, kMaxOnGrid);
  // A column for each class, where there are as many.
  const auto classes = static_cast<int64_t>(summary.classes.size());
  const auto square = classes > 1 ? std::min(classes, shown)
                                  : static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(shown))));
  const std::span<const uint64_t> on_grid(set.seeds.data(), static_cast<size_t>(shown));
  image::write_png(out / "grid.png",
                   image::grid(set.x.view().images(0, shown),
                               options_.columns > 0 ? options_.columns : square, options_.scale),
                   picture_text(parameters_, {{"Seeds", seeds_text(on_grid)}}));
  write_file(out / "trace.svg", report::trace_plot(set, fmt::format("{}: {} samples", summary.sampler, n)));
  if (summary.cooling)
    write_file(out / "energy.svg",
               report::energy_plot(set, *summary.cooling,
                                   fmt::format("{}: {} samples while cooling", summary.sampler, n)));
  if (options_.trajectory) {
    image::write_png(out / "trajectory.png", trajectory_.strips(kStripColumns, options_.scale),
                     picture_text(parameters_, {{"Rows", "for each sample: noisy, denoised"}}));
    image::write_animation(out / "animation.png", trajectory_.frames(options_.scale));
  }
  if (!options_.each) return;
  make_folder(out / "images");
  for (int64_t i = 0; i < n; ++i) {
    const uint64_t seed = set.seeds[static_cast<size_t>(i)];
    image::write_png(out / "images" / fmt::format("{:06}.png", seed),
                     image::to_image(set.x.view().images(i, 1)),
                     picture_text(parameters_, {{"Seeds", std::to_string(seed)}}));
  }
}

SampleResult SampleJob::run() {
  SampleResult result;
  result.out = options_.out;
  const auto start = std::chrono::steady_clock::now();
  if (store_) {
    result.drawn = static_cast<int64_t>(store_->missing(options_.seeds).size());
    store_->begin();
  }
  draw_all();
  result.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (store_) {
    const report::SampleSet all = store_->all(options_.seeds);
    result.summary = summary_of(all);
    store_->finish(all, to_json(result.summary));
    write_pictures(all, result.summary);
  }
  return result;
}

}  // namespace

SampleResult run_sample(const SampleOptions& options, const network::Model& model,
                        const SamplerChoice& sampler, const std::atomic<bool>& stop) {
  return SampleJob(options, model, sampler, stop).run();
}

json to_json(const SampleSummary& s) {
  json values = {{"n", s.n},
                 {"seeds", s.seeds},
                 {"sampler", s.sampler},
                 {"steps", s.steps},
                 {"gradient_evaluations", s.evaluations},
                 {"gradient_evaluations_per_sample", s.evaluations_per_sample()},
                 {"energy", s.energy},
                 {"noise_level", s.noise_level}};
  if (!s.classes.empty()) values["classes"] = s.classes;
  if (s.acceptance) {
    values["acceptance"] = *s.acceptance;
    values["step_size"] = *s.step_size;
  }
  if (s.cooling)
    values["energy_against_temperature"] = {{"slope", s.cooling->slope},
                                            {"half_pixels", s.half_pixels},
                                            {"r2", s.cooling->r2},
                                            {"exponent", number_or_null(s.cooling->exponent)},
                                            {"energy_at_end", s.cooling->end},
                                            {"temperatures", {s.cooling->low, s.cooling->high}}};
  if (s.chains) {
    values["r_hat"] = number_or_null(s.chains->r_hat);
    values["ess"] = number_or_null(s.chains->ess);
    values["draws"] = s.chains->draws;
  }
  return values;
}

json to_json(const SampleResult& result) {
  json values = to_json(result.summary);
  values["out"] = result.out;
  values["drawn"] = result.drawn;
  values["seconds"] = result.seconds;
  return values;
}

void print(const SampleResult& result) {
  const SampleSummary& s = result.summary;
  fmt::print("samples      {} ({} drawn now), seeds {}\n", s.n, result.drawn, s.seeds);
  fmt::print("sampler      {}, {} steps, {:.1f} gradient evaluations a sample\n", s.sampler, s.steps,
             s.evaluations_per_sample());
  if (!s.classes.empty()) fmt::print("classes      {}\n", fmt::join(s.classes, ", "));
  fmt::print("energy       {:.6g}\nnoise level  {:.4g} before the last jump\n", s.energy, s.noise_level);
  if (s.cooling)
    fmt::print("cooling      energy falls by {:.4g} for each unit of T (pixels/2 = {}), R² {:.4f}\n",
               s.cooling->slope, s.half_pixels, s.cooling->r2);
  if (s.acceptance) fmt::print("acceptance   {:.3f}, step size {:.4g}\n", *s.acceptance, *s.step_size);
  if (s.chains) {
    const auto number = [](double value) { return std::isfinite(value) ? value : NAN; };
    fmt::print("R-hat        {:.4f} (energy, {} draws a chain)\nESS          {:.1f}\n",
               number(s.chains->r_hat), s.chains->draws, number(s.chains->ess));
  }
  if (result.drawn > 0)
    fmt::print("time         {}, {:.3g} images/s\n", duration_text(result.seconds),
               static_cast<double>(result.drawn) / result.seconds);
  fmt::print("written      {}\n", (fs::path(result.out) / "grid.png").string());
}

std::vector<uint64_t> chosen_seeds(int64_t n, bool n_given, const std::string& text) {
  std::vector<uint64_t> seeds;
  if (text.empty()) {
    for (int64_t i = 0; i < n; ++i) seeds.push_back(static_cast<uint64_t>(i));
    return seeds;
  }
  seeds = parse_seeds(text, "--seeds");
  if (n_given && static_cast<size_t>(n) != seeds.size())
    fail_usage("give one of the two", "-n {}, but --seeds {} are {} seeds", n, text, seeds.size());
  return seeds;
}

}  // namespace mdsm::app

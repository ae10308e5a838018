#include "cli/checkpoint_samples.h"

#include <algorithm>

#include "core/error.h"
#include "core/progress.h"
#include "core/seeds.h"
#include "core/stop_flag.h"
#include "eval/tensor_images.h"

namespace mdsm::cli {
namespace {

// ema-N.safetensors in the order of N, and the last state, ema.safetensors.
std::vector<fs::path> find_checkpoints(const fs::path& run) {
  std::error_code error;
  if (!fs::is_directory(run, error))
    fail("name a run folder of mdsm train", "{}: not a folder", run.string());
  std::vector<fs::path> files;
  for (fs::directory_iterator it(run, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.starts_with("ema-") && name.ends_with(".safetensors")) files.push_back(it->path());
  }
  std::ranges::sort(files, {}, [](const fs::path& path) {
    return std::pair(path.filename().string().size(), path.filename().string());
  });
  if (fs::exists(run / "ema.safetensors", error)) files.push_back(run / "ema.safetensors");
  if (files.empty())
    fail("train with --snapshot-every", "{}: holds no ema-N.safetensors and no ema.safetensors",
         run.string());
  return files;
}

}  // namespace

void CheckpointSamples::declare(OptionSet& options) {
  const nlohmann::json before = options.to_json();
  options
      .add("checkpoints", run_,
           "instead: every ema-N.safetensors of this run folder, and mark the best by FID")
      .meta("RUN");
  options.add("n", n_, "with --checkpoints: samples of each, seeds 0 to n-1").range(2, 1e7);
  options.add("seeds", seeds_text_, "with --checkpoints: which, as in 0-63,70").meta("SEEDS");
  sampler_.declare(options, {"annealed", "fast", "ode"});
  const nlohmann::json after = options.to_json();
  for (const auto& [name, value] : after.items())
    if (!before.contains(name)) names_.push_back(name);
}

void CheckpointSamples::check_unused(const OptionSet& options) const {
  for (const std::string& name : names_)
    if (options.given(name))
      fail_usage("leave it out", "--{} without --checkpoints, which draws samples", name);
}

void CheckpointSamples::resolve(OptionSet& options, app::ModelUse& use) {
  files_ = find_checkpoints(run_);
  if (options.given("seeds")) {
    seeds_ = parse_seeds(seeds_text_, "--seeds");
    if (options.given("n") && static_cast<size_t>(n_) != seeds_.size())
      fail_usage("give one of the two", "-n {}, but --seeds {} are {} seeds", n_, seeds_text_, seeds_.size());
    if (seeds_.size() < 2) fail_usage("give more", "a single seed");
  } else {
    for (int64_t i = 0; i < n_; ++i) seeds_.push_back(static_cast<uint64_t>(i));
  }
  use.model = files_.back().string();
  const network::Model model = use.load();
  image_ = model.parameters.spec().input(1);
  sampler_.resolve(options, model);
}

std::string CheckpointSamples::seeds() const { return seeds_text(seeds_); }

std::unique_ptr<data::Dataset> CheckpointSamples::draw(const fs::path& checkpoint, const app::ModelUse& use) const {
  const network::Model model = network::load_model(checkpoint);
  const auto engine = use.make(model, std::min(use.batch, count()));
  Tensor all(engine->spec().input(count()));
  const StopFlag stop;
  Progress progress(checkpoint.filename().string(), count(), "images");
  for (int64_t first = 0; first < count(); first += use.batch) {
    const int64_t n = std::min(use.batch, count() - first);
    const auto seeds = std::span(seeds_).subspan(static_cast<size_t>(first), static_cast<size_t>(n));
    const auto observe = [&](const sample::StepReport& report) {
      progress.update(first + report.step * n / std::max<int64_t>(1, report.steps));
    };
    const sample::Samples drawn =
        sampler_.draw({.model = *engine, .seeds = seeds, .observer = observe, .stop = &stop.flag()});
    if (drawn.stopped) return nullptr;
    const auto values = drawn.x.values();
    std::ranges::transform(values, all.view().images(first, n).values().begin(),
                           [](float value) { return std::clamp(value, 0.0f, 1.0f); });
  }
  Progress::clear_line();
  return std::make_unique<eval::TensorImages>(std::move(all), "samples of " + checkpoint.filename().string());
}

}  // namespace mdsm::cli

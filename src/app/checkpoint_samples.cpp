#include "app/checkpoint_samples.h"

#include <algorithm>

#include "core/error.h"
#include "core/numbered_folder.h"
#include "core/progress.h"
#include "eval/tensor_images.h"

namespace mdsm::app {

std::vector<fs::path> find_checkpoints(const fs::path& named) {
  const fs::path run = numbered_folder(named);
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

std::unique_ptr<data::Dataset> draw_checkpoint(const fs::path& checkpoint, const ModelUse& use,
                                               const SamplerChoice& sampler, std::span<const uint64_t> seeds,
                                               const std::atomic<bool>& stop) {
  const network::Model model = network::load_model(checkpoint);
  const auto count = static_cast<int64_t>(seeds.size());
  const auto engine = use.make(model, std::min(use.batch, count));
  Tensor all(engine->images(count));
  Progress progress(checkpoint.filename().string(), count, "images");
  for (int64_t first = 0; first < count; first += use.batch) {
    const int64_t n = std::min(use.batch, count - first);
    const auto observe = [&](const sample::StepReport& report) {
      progress.update(first + report.step * n / std::max<int64_t>(1, report.steps));
    };
    const auto some = seeds.subspan(static_cast<size_t>(first), static_cast<size_t>(n));
    const sample::Samples drawn =
        sampler.draw({.model = *engine, .seeds = some, .observer = observe, .stop = &stop});
    if (drawn.stopped) return nullptr;
    std::ranges::transform(drawn.x.values(), all.view().images(first, n).values().begin(),
                           [](float value) { return std::clamp(value, 0.0f, 1.0f); });
  }
  Progress::clear_line();
  return std::make_unique<eval::TensorImages>(std::move(all), "samples of " + checkpoint.filename().string());
}

}  // namespace mdsm::app

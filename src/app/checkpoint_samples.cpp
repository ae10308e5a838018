#include "app/checkpoint_samples.h"

#include <algorithm>
#include <functional>

#include "app/world.h"
#include "core/error.h"
#include "core/numbered_folder.h"
#include "core/progress.h"
#include "data/source.h"
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

namespace {

// What has failed on the first rank where something has; empty: nothing.
std::string failure(distributed::Communicator& world, const std::function<void()>& body) {
  std::string own;
  try {
    body();
  } catch (const Error& error) {
    own = error.what();
  }
  for (const std::string& text : world.gather(own))
    if (!text.empty()) return text;
  return "";
}

// False when it was stopped.
bool draw(engine::EnergyModel& engine, engine::EnergyModel* guide, const sample::Attraction& attraction,
          const SamplerChoice& sampler, std::span<const uint64_t> seeds, int64_t batch,
          const std::atomic<bool>& stop, Progress& progress, TensorView out) {
  const auto count = static_cast<int64_t>(seeds.size());
  for (int64_t first = 0; first < count; first += batch) {
    const int64_t n = std::min(batch, count - first);
    const auto observe = [&](const sample::StepReport& report) { progress.update(first, n, report.done()); };
    const auto some = seeds.subspan(static_cast<size_t>(first), static_cast<size_t>(n));
    const sample::Samples drawn = sampler.draw({.model = engine,
                                                .seeds = some,
                                                .observer = observe,
                                                .stop = &stop,
                                                .guide = guide,
                                                .attraction = attraction});
    if (drawn.stopped) return false;
    std::ranges::transform(drawn.x.values(), out.images(first, n).values().begin(),
                           [](float value) { return std::clamp(value, 0.0f, 1.0f); });
  }
  return true;
}

// All ranks have all images.
void exchange(distributed::Communicator& world, Tensor& all) {
  const auto each = static_cast<size_t>(all.shape().per_image());
  auto parts = distributed::equal_parts(static_cast<size_t>(all.shape().n), world.size());
  for (distributed::Part& part : parts) part.first *= each, part.count *= each;
  world.gather(all.values(), parts);
}

}  // namespace

Tensor padded(Tensor images, int64_t pad) {
  data::DataOptions options;
  options.pad = pad;
  const auto fitted = [&](TensorView some) {
    data::RawImages raw;
    raw.shape = some.shape;
    raw.values = std::vector<float>(some.values().begin(), some.values().end());
    raw.from = "samples";
    return data::fit(std::move(raw), options);
  };
  // One image tells whether there is anything to do.
  if (fitted(images.view().images(0, 1)).shape == images.shape().with_n(1)) return images;
  const data::RawImages raw = fitted(images.view());
  Tensor out(raw.shape);
  std::ranges::copy(std::get<std::vector<float>>(raw.values), out.values().begin());
  return out;
}

CheckpointSamples draw_checkpoint(const fs::path& checkpoint, const ModelUse& use,
                                  const SamplerChoice& sampler, std::span<const uint64_t> seeds, int64_t pad,
                                  const std::atomic<bool>& stop, distributed::Communicator& world) {
  const std::string name = checkpoint.filename().string();
  const distributed::Part own = world.own_part(seeds.size());
  const auto first = static_cast<int64_t>(own.first), count = static_cast<int64_t>(own.count);
  std::unique_ptr<engine::EnergyModel> engine, guide;
  sample::Attraction attraction;
  nlohmann::json hash;
  CheckpointSamples found;
  found.failed = failure(world, [&] {
    const network::Model model = network::load_model(checkpoint);
    hash = model_parameters("", model).at("model-hash");
    const int64_t batch = std::clamp<int64_t>(count, 1, use.batch);
    engine = use.make(model, batch);
    guide = sampler.make_guide(use, batch, engine->image_shape());
    attraction = sampler.make_attraction(engine->image_shape());
  });
  if (!found.failed.empty()) return found;
  check_same(world, {{"content of " + name, hash}});
  Tensor all(engine->images(static_cast<int64_t>(seeds.size())));
  bool stopped = false;
  found.failed = failure(world, [&] {
    Progress progress(name, count, "images");
    stopped =
        count > 0 && !draw(*engine, guide.get(), attraction, sampler, seeds.subspan(own.first, own.count),
                           use.batch, stop, progress, all.view().images(first, count));
  });
  if (world.any(stopped) || !found.failed.empty()) return found;
  exchange(world, all);
  Progress::clear_line();
  found.failed = failure(world, [&] {
    found.images = std::make_unique<eval::TensorImages>(padded(std::move(all), pad), "samples of " + name);
  });
  return found;
}

}  // namespace mdsm::app

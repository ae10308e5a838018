#include <mdsm/model.h>

#include <algorithm>

#include "api/settings.h"
#include "app/coarse_to_fine.h"
#include "app/model_use.h"
#include "app/picture_sampling.h"
#include "core/error.h"
#include "core/round_up.h"
#include "core/threads.h"
#include "data/fitting.h"
#include "engine/tiled_energy.h"
#include "image/picture.h"
#include "restore/denoise.h"

namespace mdsm {
namespace {

void clamp_images(Tensor& images) {
  for (float& value : images.values()) value = std::clamp(value, 0.0f, 1.0f);
}

Samples clamped(Samples samples) {
  clamp_images(samples.images);
  return samples;
}

// Calls draw(run, first) for batches of the seeds and puts the samples together. A progress function that
// says stop sets the flag that samplers look at, and ends it all.
template <class Draw>
Samples in_batches(EnergyModel& energy, std::span<const uint64_t> seeds, int64_t batch,
                   const OnProgress& progress, const Draw& draw) {
  if (seeds.empty()) fail_usage("give at least one", "no seeds given");
  if (batch < 1) fail_usage("use 1 or more", "a batch of {} images", batch);
  const auto total = static_cast<int64_t>(seeds.size());
  Samples all{Tensor(energy.images(total)), {}, {}};
  std::atomic<bool> stop = false;
  for (int64_t first = 0; first < total; first += batch) {
    const int64_t count = std::min(batch, total - first);
    const auto observe = [&](const sample::StepReport& report) {
      const int64_t done = first + count * report.step / std::max<int64_t>(1, report.steps);
      if (progress && !progress({done, total, report.sigma})) stop = true;
    };
    const sample::Samples drawn =
        draw({.model = energy,
              .seeds = seeds.subspan(static_cast<size_t>(first), static_cast<size_t>(count)),
              .observer = observe,
              .stop = &stop},
             first);
    if (drawn.stopped || stop)
      throw Cancelled(fmt::format("stopped; {} of {} images were drawn", first, total));
    std::ranges::copy(drawn.x.values(), all.images.view().images(first, count).data);
    all.energy.insert(all.energy.end(), drawn.energy.begin(), drawn.energy.end());
    all.evaluations.insert(all.evaluations.end(), drawn.evaluations.begin(), drawn.evaluations.end());
  }
  if (progress) progress({total, total, 0});
  return all;
}

// use: how a guide is computed.
Samples draw(EnergyModel& energy, const nlohmann::json& info, std::span<const uint64_t> seeds, int64_t batch,
             const DrawOptions& options, const app::ModelUse& use) {
  OptionSet set("sample", "");
  app::SamplerChoice sampler;
  sampler.declare(set, sample::samplers().names());
  api::apply(set, options.settings);
  sampler.resolve(set, info);
  const auto guide = sampler.make_guide(use, batch, energy.image_shape());
  const auto attraction = sampler.make_attraction(energy.image_shape());
  return in_batches(energy, seeds, batch, options.progress, [&](sample::Run run, int64_t) {
    run.guide = guide.get();
    run.attraction = attraction;
    return sampler.draw(run);
  });
}

// One mask for all images or one for each, in values of 0 and 1.
image::Mask mask_of(std::span<const uint8_t> known, const Shape& images) {
  const auto pixels = static_cast<size_t>(images.h * images.w);
  const bool one = known.size() == pixels;
  if (!one && known.size() != pixels * static_cast<size_t>(images.n))
    fail_usage(
        fmt::format("give {} values for all images, or {}", pixels, pixels * static_cast<size_t>(images.n)),
        "the mask has {} values", known.size());
  const auto bad = std::ranges::find_if(known, [](uint8_t value) { return value > 1; });
  if (bad != known.end()) fail_usage("1 is known, 0 is missing", "the mask has a value {}", *bad);
  return {{one ? 1 : images.n, 1, images.h, images.w}, {known.begin(), known.end()}};
}

image::Mask part_of(const image::Mask& mask, int64_t first, int64_t count) {
  if (mask.shape.n == 1) return mask;
  const auto plane = static_cast<int64_t>(mask.shape.h * mask.shape.w);
  return {mask.shape.with_n(count),
          {mask.known.begin() + first * plane, mask.known.begin() + (first + count) * plane}};
}

}  // namespace

struct Model::Parts {
  app::ModelUse use;
  network::Model model;
  const OnProgress* progress = nullptr;  // of the call at work, told of every batch, or every tile of it
  int64_t batch_at_work = 0, batches = 1;
  std::unique_ptr<EnergyModel> engine;  // for images of the shape that came last

  Parts(const std::string& name, const ModelOptions& options)
      : use{name,
            {.engine = from_name<engine::EngineKind>(options.engine, "engine"),
             .device = options.device,
             .precision = from_name<engine::Precision>(options.precision, "precision")},
            thread_count(),
            checked(options.batch),
            options.tile},
        model(use.load()),
        engine(use.make(model, batch(spec().input(1)))) {}

  EnergyModel& at(const Shape& images) {
    if (engine->image_shape() != images.with_n(1))
      engine = use.make(model, batch(images), images.with_n(1),
                        [this](int64_t done, int64_t total) { tell(done, total); });
    return *engine;
  }
  // So many parts of the batch at work are done.
  void tell(int64_t done, int64_t total) const {
    const ProgressReport report{batch_at_work * total + done, batches * total, 0};
    if (progress && *progress && !(*progress)(report)) throw Cancelled("stopped by the caller");
  }
  // Calls work(engine, first, count) for images 0 .. shape.n-1, a batch at a time.
  template <class Work>
  void in_batches(const Shape& shape, const Work& work) {
    EnergyModel& chosen = at(shape);
    const int64_t size = batch(shape);
    const bool tiled = dynamic_cast<const engine::TiledEnergy*>(&chosen) != nullptr;  // tells by itself
    batches = divided_up(shape.n, size);
    for (batch_at_work = 0; batch_at_work < batches; ++batch_at_work) {
      const int64_t first = batch_at_work * size;
      work(chosen, first, std::min(size, shape.n - first));
      if (!tiled) tell(1, 1);
    }
  }
  static int64_t checked(int64_t batch) {
    if (batch < 1 || batch > 1000000) fail_usage("use 1 to 1000000", "a batch of {} images", batch);
    return batch;
  }
  int64_t batch(const Shape& image) const { return app::batch_of(image, use.batch); }
  const network::Spec& spec() const { return model.parameters.spec(); }
};

Model::Model(const std::string& name, const ModelOptions& options)
    : Model(std::make_unique<Parts>(name, options)) {}
Model::Model(std::unique_ptr<Parts> parts)
    : EnergyModel(parts->engine->image_shape(), parts->engine->sigma0()), parts_(std::move(parts)) {}
Model::~Model() = default;

bool Model::has_energy() const { return parts_->engine->has_energy(); }
bool Model::any_size() const { return parts_->spec().any_size(); }

void Model::set_size(int64_t height, int64_t width) {
  set_image_shape(parts_->model.parameters.at_size(height, width).spec().input(1));
}

bool Model::takes(const Shape& image) const {
  return any_size() ? image.c == image_shape().c && image.count() > 0 : image == image_shape();
}

void Model::energy_impl(ConstTensorView x, std::span<float> energy) {
  parts_->in_batches(x.shape, [&](EnergyModel& engine, int64_t first, int64_t count) {
    engine.energy(x.images(first, count),
                  energy.subspan(static_cast<size_t>(first), static_cast<size_t>(count)));
  });
}

void Model::energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) {
  parts_->in_batches(x.shape, [&](EnergyModel& engine, int64_t first, int64_t count) {
    engine.energy_and_gradient(x.images(first, count),
                               energy.subspan(static_cast<size_t>(first), static_cast<size_t>(count)),
                               grad_x.images(first, count));
  });
}

Samples Model::sample(std::span<const uint64_t> seeds, const DrawOptions& options) {
  return clamped(draw(*this, parts_->model.info, seeds, parts_->batch(image_shape()), options, parts_->use));
}

Denoised Model::denoise(ConstTensorView images, const OnProgress& progress) {
  struct Told {  // while it lives
    Parts& parts;
    ~Told() { parts.progress = nullptr; }
  } const told{*parts_};
  parts_->progress = &progress;
  restore::Denoised found = restore::denoise(*this, images);
  clamp_images(found.x);
  return {std::move(found.x), std::move(found.sigma), std::move(found.energy)};
}

Samples Model::inpaint(ConstTensorView images, std::span<const uint8_t> known,
                       std::span<const uint64_t> seeds, const DrawOptions& options) {
  if (!takes(images.shape.with_n(1)))
    fail_usage("fit() makes a picture fit", "images have shape {}, the model takes {}", images.shape.text(),
               this->images(images.shape.n).text());
  if (seeds.size() != static_cast<size_t>(images.shape.n))
    fail_usage("give one for each image", "{} seeds for {} images", seeds.size(), images.shape.n);
  const image::Mask mask = mask_of(known, images.shape);
  OptionSet set("inpaint", "");
  app::SamplerChoice sampler;
  sampler.declare(set, {"fast", "annealed"});
  api::apply(set, options.settings);
  const app::PictureSampling sampling = app::chosen_sampling(sampler, set)(parts_->model);
  const app::CoarseToFine scales(sampling, parts_->model, parts_->use, 0);
  return clamped(in_batches(parts_->at(images.shape), seeds, parts_->batch(images.shape), options.progress,
                            [&](const sample::Run& run, int64_t first) {
                              const auto count = static_cast<int64_t>(run.seeds.size());
                              return scales.inpaint(run, images.images(first, count),
                                                    part_of(mask, first, count));
                            }));
}

Tensor Model::fit(ConstTensorView picture) const {
  if (picture.shape.n != 1 || (picture.shape.c != 1 && picture.shape.c != 3))
    fail_usage("give one image with 1 or 3 channels", "a picture of shape {}", picture.shape.text());
  const image::Picture given{picture.shape,
                             std::vector<float>(picture.values().begin(), picture.values().end())};
  data::DataOptions options;
  if (picture.shape.c != image_shape().c)
    options.colour = image_shape().c == 1 ? data::Colour::grey : data::Colour::rgb;
  const data::Fitting fitting(picture.shape, image_shape(), options, "the picture",
                              any_size() ? data::Sizes::any : data::Sizes::own);
  Tensor out(fitting.shape());
  std::ranges::copy(fitting.fit(given), out.data());
  return out;
}

std::string Model::info() const {
  nlohmann::json info = parts_->model.info;
  info["spec"] = to_json(parts_->spec());
  return info.dump(2, ' ', true, nlohmann::json::error_handler_t::replace);
}

std::vector<std::string> model_names() { return app::bundled_models(); }

std::vector<uint64_t> seed_range(uint64_t first, int64_t count) {
  std::vector<uint64_t> seeds;
  for (int64_t i = 0; i < count; ++i) seeds.push_back(first + static_cast<uint64_t>(i));
  return seeds;
}

Samples draw_samples(EnergyModel& energy, std::span<const uint64_t> seeds, const DrawOptions& options,
                     int64_t batch) {
  app::ModelUse use;
  use.threads = thread_count();
  return draw(energy, nlohmann::json::object(), seeds, batch, options, use);
}

Tensor read_picture(const std::string& path) {
  const image::Picture picture = image::to_picture(image::read_image(path));
  Tensor out(picture.shape);
  std::ranges::transform(std::get<std::vector<uint8_t>>(picture.values), out.data(),
                         [](uint8_t value) { return static_cast<float>(value) / 255.0f; });
  return out;
}

void write_png(const std::string& path, ConstTensorView image) {
  if (image.shape.n != 1 || (image.shape.c != 1 && image.shape.c != 3))
    fail_usage("give one image with 1 or 3 channels", "a picture of shape {}", image.shape.text());
  image::write_png(path, image::to_image(image));
}

}  // namespace mdsm

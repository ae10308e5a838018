#include "app/model_use.h"

#include <cstdio>

#include "app/engine_options.h"
#include "app/version.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/json.h"
#include "core/memory.h"
#include "engine/blended_energy.h"
#include "eval/energies.h"
#include "network/bundled.h"

namespace mdsm::app {

using nlohmann::json;

void ModelUse::declare_model(OptionSet& options) {
  options.group("Model");
  options.add("model", model, "model file, run folder, or the name of a bundled model (mdsm models)")
      .meta("MODEL");
}

void ModelUse::declare_engine(OptionSet& options) {
  declare_engine_options(options, engine, threads);
  options.add("batch", batch, "images computed at a time; makes no difference to the result").range(1, 1e6);
  options
      .add("tile", tile,
           "side of the tiles that larger pictures are computed in, in pixels. unet: 0 = from the memory; "
           "res: "
           "the size of its images, for tiles that overlap and are blended; 0 = pictures are resized")
      .range(0, 65536);
}

network::Model ModelUse::load() const {
  if (model.empty()) {
    const std::string names = bundled_models_text();
    fail_usage(
        names.empty()
            ? "train one with mdsm train, and name it with --model"
            : "name one with --model: a file or run folder of mdsm train, or one that comes with mdsm: " +
                  names,
        "no model given");
  }
  return network::load_model(model);
}

void ModelUse::check_memory(const network::Model& loaded, int64_t largest_batch, const Shape& image,
                            int64_t at_once) const {
  constexpr size_t kCopies = 8;  // of the batch, which samplers keep
  const network::Spec& spec = loaded.parameters.spec();
  size_t need = kCopies * sizeof(float) * static_cast<size_t>(image.with_n(largest_batch).count());
  if (spec.any_size())
    need += engine::kTileMemory;
  else if (const auto memory = engine::memory_need(engine, spec, at_once))
    need += memory->weights + memory->gradient;
  const size_t available = available_memory();
  if (available > 0 && need > available)
    fail(largest_batch == 1 ? "crop or resize the pictures"
                            : fmt::format("use --batch {} or less", std::max<int64_t>(1, largest_batch / 2)),
         "a batch of {} image{} needs about {} of memory, {} are available", largest_batch,
         largest_batch == 1 ? "" : "s", bytes_text(need), bytes_text(available));
}

std::unique_ptr<engine::EnergyModel> ModelUse::make(const network::Model& loaded, int64_t largest_batch,
                                                    const Shape& image, engine::OnTile on_tile) const {
  use_threads(threads);
  check_memory(loaded, largest_batch, image, largest_batch);
  const network::Spec& spec = loaded.parameters.spec();
  if (spec.any_size())
    return engine::make_sized_energy(engine, loaded.parameters, {image, largest_batch, tile},
                                     std::move(on_tile));
  if (tile > 0)
    fail_usage("leave it out", "--tile is for models of --net unet here; {} takes images of one size",
               to_string(spec.network));
  return engine::make_engine(engine, loaded.parameters.at_size(image.h, image.w));
}

std::unique_ptr<engine::EnergyModel> ModelUse::make_for_pictures(const network::Model& loaded,
                                                                 int64_t largest_batch, const Shape& image,
                                                                 engine::OnTile on_tile) const {
  const network::Spec& spec = loaded.parameters.spec();
  if (spec.any_size() || tile == 0) return make(loaded, largest_batch, image, std::move(on_tile));
  if (tile != spec.size)
    fail_usage(fmt::format("use --tile {}, the size of its images", spec.size),
               "--tile {}: the tiles of {} have one size", tile, to_string(spec.network));
  use_threads(threads);
  check_memory(loaded, largest_batch, image, batch);
  return std::make_unique<engine::BlendedEnergy>(engine::make_engine(engine, loaded.parameters), image, batch,
                                                 std::move(on_tile));
}

std::unique_ptr<engine::EnergyModel> ModelUse::make(const network::Model& loaded,
                                                    int64_t largest_batch) const {
  return make(loaded, largest_batch, loaded.parameters.spec().input(1));
}

int64_t batch_of(const Shape& image, int64_t asked) {
  constexpr int64_t kValues = 16 << 20;  // of a batch of large images
  return std::min(asked, std::max<int64_t>(1, kValues / image.per_image()));
}

std::unique_ptr<data::Dataset> open_images(const network::Model& model, data::DataOptions options) {
  if (options.pad < 0 && model.parameters.spec().size == 28) options.pad = 0;
  return data::open_dataset(options);
}

Shape image_shape(const network::Model& model, const data::Dataset& images) {
  const network::Spec& spec = model.parameters.spec();
  Shape wanted = spec.input(1);
  if (spec.any_size()) wanted.h = images.image_shape().h, wanted.w = images.image_shape().w;
  eval::check_fits(wanted, images);
  return wanted;
}

std::vector<std::string> bundled_models() { return network::list_bundled_models(); }

std::string bundled_models_text() { return fmt::format("{}", fmt::join(bundled_models(), ", ")); }

json model_parameters(const std::string& path, const network::Model& model) {
  const auto values = model.parameters.values();
  return {{"model", path}, {"model-hash", content_hash(values.data(), values.size_bytes())}};
}

std::map<std::string, std::string> picture_text(const json& parameters,
                                                std::map<std::string, std::string> more) {
  const std::string version = version_text();
  more["Software"] = version.substr(0, version.find('\n'));
  more["mdsm"] = parameters.dump(-1, ' ', true, json::error_handler_t::replace);
  return more;
}

namespace {
thread_local CapturedJson* captured = nullptr;
}

CapturedJson::CapturedJson() { captured = this; }
CapturedJson::~CapturedJson() { captured = nullptr; }

void print_json(const json& values) {
  if (captured)
    captured->text = json_text(values);
  else
    fmt::print("{}\n", json_text(values, 2));
}

}  // namespace mdsm::app

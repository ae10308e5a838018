#include "app/model_use.h"

#include <cstdio>

#include "app/engine_options.h"
#include "app/version.h"
#include "core/error.h"
#include "core/hash.h"
#include "core/memory.h"
#include "core/threads.h"
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

std::unique_ptr<engine::TrainableEnergy> ModelUse::make(const network::Model& loaded,
                                                        int64_t largest_batch) const {
  set_thread_count(static_cast<int>(threads));
  const network::Spec& spec = loaded.parameters.spec();
  if (const auto memory = engine::memory_need(engine, spec, largest_batch)) {
    constexpr size_t kCopies = 8;  // of the batch, which samplers keep
    const size_t need = memory->parameters + memory->gradient +
                        kCopies * sizeof(float) * static_cast<size_t>(spec.input(largest_batch).count());
    const size_t available = available_memory();
    if (available > 0 && need > available)
      fail(fmt::format("use --batch {} or less", std::max<int64_t>(1, largest_batch / 2)),
           "a batch of {} images needs about {} of memory, {} are available", largest_batch, bytes_text(need),
           bytes_text(available));
  }
  return engine::make_engine(engine, loaded.parameters);
}

std::vector<std::string> bundled_models() {
  std::vector<std::string> names = network::list_bundled();
  std::erase_if(names, [](const std::string& name) { return name.starts_with(network::kClassifierPrefix); });
  return names;
}

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

void print_json(const json& values) {
  fmt::print("{}\n", values.dump(2, ' ', false, json::error_handler_t::replace));
}

}  // namespace mdsm::app

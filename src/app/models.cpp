#include "app/models.h"

#include "app/model_use.h"
#include "app/output.h"
#include "core/memory.h"
#include "network/bundled.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

BundledModel facts_of(const std::string& name) {
  BundledModel one;
  one.name = name;
  one.file = *network::find_bundled(name);
  one.bytes = fs::file_size(one.file);
  const network::Model model = network::load_model(one.file);
  one.spec = model.parameters.spec();
  one.parameters = network::parameter_count(one.spec);
  const json trained = model.info.value("trained", json::object());
  if (!trained.is_object()) return one;
  if (const auto data = trained.find("data"); data != trained.end() && data->is_string())
    one.data = data->get<std::string>();
  if (const auto step = trained.find("step"); step != trained.end() && step->is_number())
    one.updates = step->get<int64_t>();
  one.continued = trained.contains("init");
  return one;
}

template <class T>
json or_null(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

}  // namespace

std::vector<BundledModel> run_models() {
  std::vector<BundledModel> models;
  for (const std::string& name : bundled_models()) models.push_back(facts_of(name));
  return models;
}

json to_json(const std::vector<BundledModel>& models) {
  json all = json::array();
  for (const BundledModel& one : models)
    all.push_back({{"name", one.name},
                   {"file", one.file.string()},
                   {"bytes", one.bytes},
                   {"spec", to_json(one.spec)},
                   {"parameters", one.parameters},
                   {"data", or_null(one.data)},
                   {"updates", or_null(one.updates)},
                   {"continued", one.continued}});
  return all;
}

void print(const std::vector<BundledModel>& models) {
  for (const BundledModel& one : models) {
    const network::Spec& spec = one.spec;
    fmt::print("{:<16}{} width {}, {}x{}x{}, {}{}; {}\n", one.name, to_string(spec.network), spec.width,
               spec.channels, spec.size, spec.size, one.data ? "trained on " + *one.data : "of unknown data",
               one.updates ? fmt::format(", {} steps{}", grouped(*one.updates),
                                         one.continued ? " in its last part" : "")
                           : "",
               bytes_text(static_cast<double>(one.bytes)));
  }
  fmt::print("\nTheir names stand for files wherever a command takes a model; cards are in docs/models.\n");
}

}  // namespace mdsm::app

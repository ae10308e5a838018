#include "train/checkpoint.h"

#include <algorithm>
#include <cctype>

#include "core/error.h"

namespace mdsm::train {
namespace {

using nlohmann::json;

struct Part {
  engine::StateVector which;
  const char* name;
};
constexpr Part kParts[] = {{engine::StateVector::weights, "weights"},
                           {engine::StateVector::ema, "ema"},
                           {engine::StateVector::adam_m, "adam_m"},
                           {engine::StateVector::adam_v, "adam_v"}};

std::vector<float> read_part(const engine::TrainableEnergy& engine, engine::StateVector which) {
  std::vector<float> values(static_cast<size_t>(network::parameter_count(engine.spec())));
  engine.read(which, values);
  return values;
}

json head_json(const StateHead& head, const json& of_objective) {
  json values = {{"step", head.step},           {"cursor", head.step},
                 {"seconds", head.seconds},     {"meter", head.meter.to_json()},
                 {"seed", head.seed},           {"options_hash", head.options_hash},
                 {"data_size", head.data_size}, {"format", 1}};
  if (!of_objective.empty()) values["objective"] = of_objective;
  return values;
}

StateHead head_from(const json& values) {
  StateHead head;
  if (values.at("format").get<int>() != 1) throw std::runtime_error("written by a newer version");
  head.step = values.at("step").get<int64_t>();
  head.seconds = values.at("seconds").get<double>();
  head.meter = StatsMeter::from_json(values.at("meter"));
  head.seed = values.at("seed").get<int64_t>();
  head.options_hash = values.at("options_hash").get<std::string>();
  head.data_size = values.at("data_size").get<int64_t>();
  if (head.step < 0) throw std::runtime_error("negative step");
  return head;
}

void load_part(const io::SafetensorsFile& file, const Part& part, engine::TrainableEnergy& engine) {
  std::vector<float> values(static_cast<size_t>(network::parameter_count(engine.spec())));
  for (const network::ParameterInfo& info : network::parameter_layout(engine.spec())) {
    const std::string name = fmt::format("{}.{}", part.name, info.name);
    const auto* entry = file.find(name);
    if (!entry || entry->shape != info.shape || entry->dtype != "F32")
      fail_damaged_state(file.path(),
                         "tensor " + name + (entry ? " has another shape or type" : " is missing"));
    std::ranges::copy(file.read(*entry), values.begin() + info.offset);
  }
  if (find_non_finite(values) >= 0)
    fail_damaged_state(file.path(), fmt::format("{} are not all finite", part.name));
  engine.write(part.which, values);
}

bool is_part(const std::string& tensor) {
  return std::ranges::any_of(
      kParts, [&](const Part& part) { return tensor.starts_with(std::string(part.name) + "."); });
}

}  // namespace

void save_state(const fs::path& path, const engine::TrainableEnergy& engine, const Objective& objective,
                const StateHead& head) {
  std::vector<std::vector<float>> vectors;
  std::vector<io::NamedTensor> tensors;
  const auto layout = network::parameter_layout(engine.spec());
  for (const Part& part : kParts) {
    vectors.push_back(read_part(engine, part.which));
    for (const network::ParameterInfo& info : layout)
      tensors.push_back({fmt::format("{}.{}", part.name, info.name), info.shape,
                         std::span(vectors.back()).subspan(info.offset, info.count)});
  }
  StateWriter own;
  objective.save(own);
  std::ranges::copy(own.tensors(), std::back_inserter(tensors));
  io::write_safetensors(
      path, tensors,
      {{"mdsm_state", head_json(head, own.values).dump()}, {"spec", to_json(engine.spec()).dump()}});
}

StateFile::StateFile(const fs::path& path, const network::Spec& wanted) : file_(path) {
  try {
    const json values = json::parse(file_.metadata().at("mdsm_state"));
    head_ = head_from(values);
    of_objective_ = values.value("objective", json::object());
    const network::Spec spec =
        network::spec_from_json(json::parse(file_.metadata().at("spec")), path.string());
    if (spec.input(1) != wanted.input(1))
      fail("give it the same data and options", "the data now has images of {}, the run was started with {}",
           wanted.input(1).text(), spec.input(1).text());
    if (spec != wanted) fail_damaged_state(path, "its network is not that of the run's options");
  } catch (const Error&) {
    throw;
  } catch (const std::exception& error) {  // a missing key, bad JSON, a value of another type
    fail_damaged_state(path, error.what());
  }
}

void StateFile::load(engine::TrainableEnergy& engine, Objective& objective) const {
  for (const Part& part : kParts) load_part(file_, part, engine);
  StateReader reader(file_, of_objective_);
  try {
    objective.load(reader, engine.spec());
  } catch (const json::exception& error) {
    fail_damaged_state(file_.path(), error.what());
  }
  for (const auto& entry : file_.entries())
    if (!is_part(entry.name) && !reader.was_read(entry.name))
      fail("the file is damaged or belongs to another run", "{}: its {} are not of this run",
           file_.path().string(), entry.name);
}

bool state_is_finite(const engine::TrainableEnergy& engine) {
  return std::ranges::all_of(
      kParts, [&](const Part& part) { return find_non_finite(read_part(engine, part.which)) < 0; });
}

void remove_temporary_files(const fs::path& folder) {
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(folder, ignored)) {
    const std::string name = entry.path().filename().string();
    const size_t at = name.rfind(".tmp");
    if (at == std::string::npos || at + 4 == name.size()) continue;
    if (std::all_of(name.begin() + static_cast<std::ptrdiff_t>(at) + 4, name.end(),
                    [](unsigned char c) { return std::isdigit(c); }))
      fs::remove(entry.path(), ignored);
  }
}

}  // namespace mdsm::train

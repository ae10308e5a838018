#include "train/checkpoint.h"

#include <unistd.h>

#include <algorithm>
#include <system_error>

#include "core/error.h"
#include "core/json.h"
#include "io/checked_safetensors.h"

namespace mdsm::train {
namespace {

using nlohmann::json;

struct StatePart {
  engine::StateVector which;
  const char* name;
};
constexpr StatePart kParts[] = {{engine::StateVector::weights, "weights"},
                                {engine::StateVector::ema, "ema"},
                                {engine::StateVector::adam_m, "adam_m"},
                                {engine::StateVector::adam_v, "adam_v"}};

std::vector<float> read_part(const engine::TrainableEnergy& engine, engine::StateVector which) {
  std::vector<float> values(static_cast<size_t>(network::parameter_count(engine.spec())));
  engine.read(which, values);
  return values;
}

json head_json(const StateHead& head, const json& of_objective) {
  json values = {{"step", head.step},
                 {"cursor", head.step},
                 {"seconds", head.seconds},
                 {"meter", head.meter.to_json()},
                 {"seed", head.seed},
                 {"options_hash", head.options_hash},
                 {"data_size", head.data_size},
                 {"data_hash", head.data_hash},
                 {"format", 1}};
  if (!of_objective.empty()) values["objective"] = of_objective;
  return values;
}

StateHead head_from(const JsonObject& values, const fs::path& path) {
  StateHead head;
  if (values.get<int64_t>("format") != 1) fail_damaged_state(path, "written by a newer version");
  head.step = values.get<int64_t>("step");
  head.seconds = values.get<double>("seconds");
  head.meter = StatsMeter::from_json(values.object("meter"));
  head.seed = values.get<int64_t>("seed");
  head.options_hash = values.get<std::string>("options_hash");
  head.data_size = values.get<int64_t>("data_size");
  head.data_hash = values.get_or<std::string>("data_hash", "");
  if (head.step < 0) fail_damaged_state(path, "negative step");
  return head;
}

// Whatever keeps it from being read is damage of a state.
template <class... Bytes>
io::SafetensorsFile open_state(const fs::path& path, const Bytes&... bytes) {
  try {
    return io::SafetensorsFile(path, bytes...);
  } catch (const Error& error) {
    fail_damaged_state(path, error.message());
  }
}

void load_part(const io::SafetensorsFile& file, const StatePart& part, engine::TrainableEnergy& engine) {
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
      kParts, [&](const StatePart& part) { return tensor.starts_with(std::string(part.name) + "."); });
}

}  // namespace

void save_state(const fs::path& path, const engine::TrainableEnergy& engine, const Objective& objective,
                const StateHead& head) {
  std::vector<std::vector<float>> vectors;
  std::vector<io::NamedTensor> tensors;
  const auto layout = network::parameter_layout(engine.spec());
  for (const StatePart& part : kParts) {
    vectors.push_back(read_part(engine, part.which));
    for (const network::ParameterInfo& info : layout)
      tensors.push_back({fmt::format("{}.{}", part.name, info.name), info.shape,
                         std::span(vectors.back()).subspan(info.offset, info.count)});
  }
  StateWriter own;
  objective.save(own);
  std::ranges::copy(own.tensors(), std::back_inserter(tensors));
  io::write_checked_safetensors(
      path, tensors,
      {{"mdsm_state", json_text(head_json(head, own.values))}, {"spec", json_text(to_json(engine.spec()))}});
}

StateFile::StateFile(const fs::path& path, const network::Spec& spec) : StateFile(open_state(path), spec) {}

StateFile::StateFile(const fs::path& name, const std::string& bytes, const network::Spec& spec)
    : StateFile(open_state(name, std::string_view(bytes)), spec) {}

StateFile::StateFile(io::SafetensorsFile file, const network::Spec& wanted) : file_(std::move(file)) {
  const fs::path& path = file_.path();
  const auto object = [&](const char* key) {
    const auto found = file_.metadata().find(key);
    if (found == file_.metadata().end()) fail_damaged_state(path, fmt::format("no {}", key));
    return JsonObject::parse(found->second, [&](const std::string& what) { fail_damaged_state(path, what); });
  };
  const JsonObject values = object("mdsm_state");
  if (!io::checksum_is_right(file_)) fail_damaged_state(path, "its checksum is wrong");
  head_ = head_from(values, path);
  of_objective_ = values.has("objective") ? values.at("objective") : json::object();
  const network::Spec spec = network::spec_from_json(object("spec").values(), path.string());
  if (spec.input(1) != wanted.input(1))
    fail("give it the same data and options", "the data now has images of {}, the run was started with {}",
         wanted.input(1).text(), spec.input(1).text());
  if (spec != wanted) fail_damaged_state(path, "its network is not that of the run's options");
}

void StateFile::load(engine::TrainableEnergy& engine, Objective& objective) const {
  for (const StatePart& part : kParts) load_part(file_, part, engine);
  StateReader reader(file_, of_objective_);
  try {
    objective.load(reader, engine.spec());
  } catch (const JsonError& error) {
    fail_damaged_state(file_.path(), error.what());
  }
  for (const auto& entry : file_.entries())
    if (!is_part(entry.name) && !reader.was_read(entry.name))
      fail("the file is damaged or belongs to another run", "{}: its {} are not of this run",
           file_.path().string(), entry.name);
}

// A second name for the same bytes, or a copy where the file system has no such thing.
void keep_state(const fs::path& state, const fs::path& earlier) {
  std::error_code error;
  if (!fs::exists(state, error)) return;
  const fs::path temporary = fs::path(earlier) += fmt::format(".tmp{}", ::getpid());
  fs::remove(temporary, error);
  fs::create_hard_link(state, temporary, error);
  if (error) fs::copy_file(state, temporary, error);
  if (!error) fs::rename(temporary, earlier, error);
  if (error) {
    std::error_code ignored;
    fs::remove(temporary, ignored);
    fail("free some space; the last checkpoint is untouched", "{}: cannot be written: {}", earlier.string(),
         error.message());
  }
}

bool state_is_finite(const engine::TrainableEnergy& engine) {
  return std::ranges::all_of(
      kParts, [&](const StatePart& part) { return find_non_finite(read_part(engine, part.which)) < 0; });
}

}  // namespace mdsm::train

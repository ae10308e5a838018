#include "network/model_file.h"

#include <algorithm>
#include <fstream>

#include "core/error.h"
#include "core/json.h"
#include "core/nearest.h"
#include "core/numbered_folder.h"
#include "network/bundled.h"

namespace mdsm::network {
namespace {

using nlohmann::json;

constexpr const char* kFormat = "mdsm";

// Text goes in as it is, unless reading it back would take it for JSON.
std::string metadata_text(const json& value) {
  if (value.is_string() && parse_json(value.get<std::string>()).is_discarded())
    return value.get<std::string>();
  return json_text(value);
}

json metadata_value(const std::string& text) {
  json value = parse_json(text);
  return value.is_discarded() ? json(text) : value;
}

// A name that is nearly one of a bundled model gets that; otherwise all of them.
[[noreturn]] void fail_not_there(const fs::path& path) {
  const std::vector<std::string> names = list_bundled_models();
  const std::string nearest = nearest_name(path.string(), names);
  fail(!nearest.empty() ? fmt::format("did you mean {}?", nearest)
       : names.empty()
           ? "check the path"
           : fmt::format("check the path, or take one that comes with mdsm: {}", fmt::join(names, ", ")),
       "{}: no such file", path.string());
}

// A run folder stands for the model one wants from it: the averaged weights. What is neither a file nor such
// a folder may be the name of a bundled model, also where a folder of images has that name.
fs::path model_path(const fs::path& given) {
  std::error_code error;
  const bool own = fs::is_regular_file(given, error) || fs::exists(given / "ema.safetensors", error);
  if (!own)
    if (const auto bundled = find_bundled(given.string())) return *bundled;
  const fs::path path = numbered_folder(given);
  if (!fs::exists(path, error)) fail_not_there(path);
  if (!fs::is_directory(path, error)) return path;
  if (fs::exists(path / "ema.safetensors", error)) return path / "ema.safetensors";
  fail("name a .safetensors file or a run folder", "{}: a folder without ema.safetensors", path.string());
}

// PyTorch's containers: a zip archive, or a pickle of protocol 2 and up.
bool is_pytorch_file(const fs::path& path) {
  char start[4] = {};
  std::error_code error;
  if (!fs::is_regular_file(path, error)) return false;  // opening a pipe would wait for its other end
  std::ifstream(path, std::ios::binary).read(start, sizeof start);
  const std::string_view found(start, sizeof start);
  return found == "PK\3\4" || (found[0] == '\x80' && found[1] >= 2 && found[1] <= 5 && found[2] == '\x8a');
}

Spec read_spec(const io::SafetensorsFile& file, const std::string& where) {
  const auto& metadata = file.metadata();
  const auto format = metadata.find("format"), spec = metadata.find("spec");
  if (format == metadata.end() || format->second != kFormat || spec == metadata.end())
    fail("use a file written by mdsm train or mdsm import", "{}: a safetensors file, but not an mdsm model",
         where);
  return spec_from_json(parse_json(spec->second), where);
}

void check_names(const io::SafetensorsFile& file, const std::vector<ParameterInfo>& layout,
                 const std::string& where) {
  for (const auto& entry : file.entries()) {
    const auto known = std::find_if(layout.begin(), layout.end(),
                                    [&](const ParameterInfo& info) { return info.name == entry.name; });
    if (known == layout.end())
      fail("the file is damaged or of a newer version", "{}: '{}' is no parameter of this network", where,
           entry.name);
  }
  for (const ParameterInfo& info : layout) {
    const auto* entry = file.find(info.name);
    if (!entry) fail("the file is damaged", "{}: parameter '{}' is missing", where, info.name);
    if (entry->shape != info.shape)
      fail("the file is damaged", "{}: parameter '{}' has shape ({}) instead of ({})", where, info.name,
           fmt::join(entry->shape, ", "), fmt::join(info.shape, ", "));
  }
}

}  // namespace

void save_model(const fs::path& path, const Parameters& parameters, const json& info, io::StoredType type) {
  std::map<std::string, std::string> metadata;
  for (const auto& [key, value] : info.items()) metadata[key] = metadata_text(value);
  metadata["format"] = kFormat;
  metadata["spec"] = json_text(to_json(parameters.spec()));
  std::vector<io::NamedTensor> tensors;
  for (const ParameterInfo& one : parameters.layout())
    tensors.push_back({one.name, one.shape, parameters.at(one)});
  io::write_safetensors(path, tensors, metadata, type);
}

Model load_model(const fs::path& given) {
  const fs::path path = model_path(given);
  const std::string where = path.string();
  if (is_pytorch_file(path))
    fail(fmt::format("convert it with: mdsm import {} model.safetensors", where),
         "{}: a PyTorch file, not an mdsm model", where);
  const io::SafetensorsFile file(path);
  for (const auto& [key, text] : file.metadata())
    if (nests_too_deeply(text))
      fail("use another copy of the file", "{}: metadata '{:.40}' is nested too deeply", where, key);
  const Spec spec = read_spec(file, where);
  check_names(file, parameter_layout(spec), where);  // before memory is taken for what the spec claims
  Model model{Parameters(spec), json::object()};
  for (const ParameterInfo& info : model.parameters.layout()) {
    const std::vector<float> values = file.read(*file.find(info.name));
    if (const int64_t at = find_non_finite(values); at >= 0)
      fail("use an earlier checkpoint", "{}: parameter '{}' is not finite (value {})", where, info.name,
           values[static_cast<size_t>(at)]);
    std::copy(values.begin(), values.end(), model.parameters.at(info).begin());
  }
  for (const auto& [key, text] : file.metadata())
    if (key != "format" && key != "spec") model.info[key] = metadata_value(text);
  return model;
}

}  // namespace mdsm::network

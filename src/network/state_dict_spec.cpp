// From names and shapes to a network: which one it is, how wide, for which images.
#include <algorithm>
#include <cmath>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string_view>

#include "core/error.h"
#include "network/state_dict.h"

namespace mdsm::network {
namespace {

constexpr const char* kNotOurs =
    "only state dicts of the networks res6, res12, res18, res34 and unet can be read";

using Entries = std::map<std::string, const StateTensor*, std::less<>>;

// DataParallel puts "module." before every name.
Entries without_module(const StateDict& dict, const std::string& where) {
  const std::string prefix = "module.";
  Entries entries;
  for (const auto& [name, tensor] : dict) {
    const std::string plain = name.starts_with(prefix) ? name.substr(prefix.size()) : name;
    if (!entries.emplace(plain, &tensor).second)
      fail(kNotOurs, "{}: '{}' appears with and without 'module.'", where, plain);
  }
  return entries;
}

std::string shape_text(const std::vector<int64_t>& shape) {
  return fmt::format("({})", fmt::join(shape, ", "));
}

const StateTensor& need(const Entries& entries, std::string_view name, size_t dimensions,
                        const std::string& where) {
  const auto found = entries.find(name);
  if (found == entries.end()) fail(kNotOurs, "{}: '{}' is missing", where, name);
  const StateTensor& tensor = *found->second;
  if (tensor.shape.size() != dimensions || !tensor.is_float)
    fail(kNotOurs, "{}: '{}' has shape {}", where, name, shape_text(tensor.shape));
  return tensor;
}

Network find_network(const Entries& entries, const std::string& where) {
  std::set<std::string> found;
  for (const auto& [name, tensor] : entries)
    if (name.starts_with("rb")) found.insert(name.substr(0, name.find('.')));
  for (const Network network : {Network::res6, Network::res12, Network::res18, Network::res34}) {
    const std::vector<std::string>& names = paper_blocks(network);
    if (std::set<std::string>(names.begin(), names.end()) == found) return network;
  }
  fail(kNotOurs, "{}: the blocks [{}] are those of no known network", where, fmt::join(found, " "));
}

// The head sees the last feature map, so its inputs tell the image size: features = channels x side².
int64_t find_size(const Spec& spec, int64_t features, const std::string& where) {
  int64_t channels = spec.width, halvings = 0;
  for (const std::string& name : paper_blocks(spec.network))
    if (!name.starts_with("rbc")) channels *= 2, ++halvings;
  const int64_t pixels = channels > 0 ? features / channels : 0;
  const auto side = static_cast<int64_t>(std::llround(std::sqrt(static_cast<double>(pixels))));
  if (pixels < 1 || pixels > (1 << 24) || pixels * channels != features || side * side != pixels)
    fail(kNotOurs, "{}: a head of {} inputs does not fit {} channels of a square image", where, features,
         channels);
  return side << halvings;
}

double read_bowl(const StateTensor& bowl, const std::string& where) {
  if (!bowl.is_float || bowl.values.size() != 1)
    fail(kNotOurs, "{}: '{}' is not one number", where, kBowlEntry);
  return static_cast<double>(bowl.values[0]);
}

Spec find_paper_spec(const Entries& entries, const std::string& where) {
  Spec spec;
  spec.network = find_network(entries, where);
  const StateTensor& first = need(entries, "conv1.conv.weight", 4, where);
  spec.width = first.shape[0];
  spec.channels = first.shape[1];
  spec.head = entries.count("ln.weight") ? Head::linear : Head::quadratic;
  const char* head = spec.head == Head::linear ? "ln.weight" : "ln1.weight";
  if (spec.width < 1 || spec.width > 4096) fail(kNotOurs, "{}: width {} is not supported", where, spec.width);
  spec.size = find_size(spec, need(entries, head, 2, where).shape[1], where);
  if (entries.contains(kBowlEntry)) spec.bowl = read_bowl(need(entries, kBowlEntry, 1, where), where);
  return spec;
}

// How many of the names that `name` makes of 0, 1, ... are there.
int64_t count_of(const Entries& entries, const std::function<std::string(int64_t)>& name) {
  int64_t count = 0;
  while (entries.contains(name(count))) ++count;
  return count;
}

Spec find_unet_spec(const Entries& entries, const NotInDict& more, const std::string& where) {
  Spec spec;
  spec.network = Network::unet;
  spec.head = more.unet_head;
  spec.activation = more.unet_activation;
  spec.size = more.unet_size;
  const StateTensor& first = need(entries, "in.weight", 4, where);
  spec.width = first.shape[0];
  spec.channels = first.shape[1];
  spec.levels = count_of(entries, [](int64_t i) { return fmt::format("down{}.0.conv1.weight", i); });
  spec.blocks = count_of(entries, [](int64_t i) { return fmt::format("down0.{}.conv1.weight", i); });
  return spec;
}

Spec find_spec(const Entries& entries, const NotInDict& more, const std::string& where) {
  Spec spec =
      entries.contains("in.weight") ? find_unet_spec(entries, more, where) : find_paper_spec(entries, where);
  spec.sigma0 = more.sigma0;
  try {
    validate(spec);
  } catch (const Error& error) {
    fail(kNotOurs, "{}: {}", where, error.message());
  }
  return spec;
}

// The authors' blocks own layer norms that their forward pass never calls.
bool is_unused(const std::string& name, const StateTensor& tensor) {
  if (!tensor.is_float) return true;
  const size_t dot = name.find('.');
  if (!name.starts_with("rb") || dot == std::string::npos) return false;
  const std::string rest = name.substr(dot + 1);
  return rest == "bn1.weight" || rest == "bn1.bias" || rest == "bn2.weight" || rest == "bn2.bias";
}

}  // namespace

ImportedParameters parameters_from(const StateDict& dict, const NotInDict& more, const std::string& where) {
  Entries entries = without_module(dict, where);
  const Spec spec = find_spec(entries, more, where);
  const std::vector<ParameterInfo> layout = parameter_layout(spec);
  for (const ParameterInfo& info : layout) {  // all of it before memory is taken
    const StateTensor& tensor = need(entries, info.name, info.shape.size(), where);
    if (tensor.shape != info.shape)
      fail(kNotOurs, "{}: '{}' has shape {} instead of {}", where, info.name, shape_text(tensor.shape),
           shape_text(info.shape));
    if (find_non_finite(tensor.values) >= 0)
      fail("use an earlier checkpoint", "{}: '{}' holds a value that is not finite", where, info.name);
  }
  ImportedParameters imported{Parameters(spec), {}};
  for (const ParameterInfo& info : layout) {
    const auto found = entries.find(info.name);
    std::copy(found->second->values.begin(), found->second->values.end(),
              imported.parameters.at(info).begin());
    entries.erase(found);
  }
  entries.erase(kBowlEntry);
  for (const auto& [name, tensor] : entries) {
    if (!is_unused(name, *tensor))
      fail(kNotOurs, "{}: '{}' is no parameter of {}", where, name, to_string(spec.network));
    imported.skipped.push_back(name);
  }
  return imported;
}

}  // namespace mdsm::network

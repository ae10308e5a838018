#include "sample/model_defaults.h"

#include "core/error.h"
#include "sample/registry.h"

namespace mdsm::sample {

using nlohmann::json;

namespace {
constexpr const char* kSampler = "multistep";

// A file names a model beside the others, never a path.
bool is_name(const json& value) {
  constexpr size_t kMaxName = 100;
  if (!value.is_string()) return false;
  const auto& text = value.get_ref<const std::string&>();
  return text.size() <= kMaxName && !text.starts_with('.') && text.find('/') == std::string::npos;
}

bool names_a_file(const std::string& option) { return option == "guide" || option == "class-by"; }
}  // namespace

json model_defaults(const std::string& list, const std::string& option) {
  if (list.empty()) return json::object();
  const auto sampler = samplers().at(kSampler).make();
  OptionSet options(kSampler, "");
  sampler->declare(options);
  for (size_t at = 0; at <= list.size();) {
    const size_t end = std::min(list.find(',', at), list.size());
    const std::string one = list.substr(at, end - at);
    const size_t equals = one.find('=');
    if (one.starts_with("classes="))
      fail_usage("leave it out", "{} {}: what the images show is said when they are drawn", option, one);
    if (equals == std::string::npos)
      fail_usage("write it as in churn=16,hot=10", "{} {}: '{}' is not NAME=VALUE", option, list, one);
    options.set(one.substr(0, equals), one.substr(equals + 1), option);
    at = end + 1;
  }
  const json all = options.to_json();
  json given = json::object();
  for (const std::string& name : options.given_names()) {
    given[name] = all.at(name);
    if (names_a_file(name) && !is_name(given[name]))
      fail_usage("a model file names those that come with mdsm", "{} {}: '{}' is a path", option, name,
                 given[name].get<std::string>());
  }
  return {{kSampler, given}};
}

void take_model_defaults(OptionSet& options, const json& info, const std::string& sampler) {
  const json own = info.value("sampling", json());
  if (!own.is_object() || !own.contains(sampler) || !own.at(sampler).is_object()) return;
  const json known = options.chosen_json();
  for (const auto& [name, value] : own.at(sampler).items()) {
    if (!known.contains(name)) continue;
    if (names_a_file(name) && is_name(value))
      options.set_default(name, value.get<std::string>());
    else if (!names_a_file(name) && (value.is_number() || value.is_boolean()))
      options.set_default(name, value.dump());
  }
}

}  // namespace mdsm::sample

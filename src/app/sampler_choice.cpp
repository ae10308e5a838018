#include "app/sampler_choice.h"

#include <algorithm>

namespace mdsm::app {

void SamplerChoice::declare(OptionSet& options, const std::vector<std::string>& names) {
  name_ = names.front();
  options.group("Sampler");
  if (names.size() > 1)
    options.add("sampler", name_, "how samples are drawn (docs/sampling.md compares them)").choices(names);
  for (const std::string& name : names) {
    offered_.emplace_back(name, sample::samplers().at(name).make());
    options.alternative("sampler", name);
    offered_.back().second->declare(options);
  }
  options.common();
}

void SamplerChoice::resolve(OptionSet& options, const nlohmann::json& info) {
  options.choose(name_);
  const auto found = std::ranges::find(offered_, name_, [](const auto& one) { return one.first; });
  found->second->resolve(options, info);
  chosen_ = found->second.get();
  parameters_ = options.chosen_json();
  chosen_->complete(parameters_);
  parameters_["sampler"] = name_;
}

}  // namespace mdsm::app

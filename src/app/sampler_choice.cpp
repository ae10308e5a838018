#include "app/sampler_choice.h"

#include <algorithm>

#include "core/error.h"
#include "network/bundled.h"
#include "sample/model_defaults.h"

namespace mdsm::app {
namespace {

// "annealed: the paper's; fast: ..."
std::string meanings(const std::vector<std::string>& names) {
  std::vector<std::string> each;
  for (const std::string& name : names) each.push_back(name + ": " + sample::samplers().at(name).what);
  return fmt::format("{} (docs/sampling.md compares them)", fmt::join(each, "; "));
}

}  // namespace

void SamplerChoice::declare(OptionSet& options, const std::vector<std::string>& names) {
  name_ = names.front();
  options.group("Sampler");
  if (names.size() > 1) options.add("sampler", name_, meanings(names)).choices(names);
  for (const std::string& name : names) {
    offered_.emplace_back(name, sample::samplers().at(name).make());
    options.alternative("sampler", name);
    offered_.back().second->declare(options);
  }
  options.common();
}

void SamplerChoice::resolve(OptionSet& options, const nlohmann::json& info) {
  options.choose(name_);
  sample::take_model_defaults(options, info, name_);
  const auto found = std::ranges::find(offered_, name_, [](const auto& one) { return one.first; });
  found->second->resolve(options, info);
  chosen_ = found->second.get();
  parameters_ = options.chosen_json();
  chosen_->complete(parameters_);
  parameters_["sampler"] = name_;
  resolve_classes(options);
  resolve_guide(options);
}

void SamplerChoice::resolve_classes(const OptionSet& options) {
  const sample::Sampler::Wanted wanted = chosen_->wanted();
  if (wanted.classes.empty()) return;
  classes_ = std::make_unique<ClassifierGuidance>(wanted, !options.given("class-by"));
  parameters_["class-hash"] = classes_->hash();
}

void SamplerChoice::resolve_guide(const OptionSet& options) {
  const std::string guide = chosen_->guide();
  if (guide.empty()) return;
  constexpr const char* kHint = "name it with --guide, or draw without one by --guidance 0";
  // The name in a model file is that of a bundled model, whatever lies in this folder.
  const auto bundled = options.given("guide") ? std::nullopt : network::find_bundled(guide);
  if (!bundled && !options.given("guide"))
    fail(kHint, "the model's guide {} is not among those that come with mdsm", guide);
  try {
    guide_ = network::load_model(bundled ? *bundled : fs::path(guide));
  } catch (const Error& error) {
    fail(kHint, "the guide: {}", error.message());
  }
  parameters_["guide-hash"] = model_parameters(guide, *guide_).at("model-hash");
}

std::unique_ptr<engine::EnergyModel> SamplerChoice::make_guide(const ModelUse& use, int64_t largest_batch,
                                                               const Shape& image) const {
  if (!guide_) return nullptr;
  const network::Spec& spec = guide_->parameters.spec();
  const Shape own = spec.input(1);
  if (own.c != image.c || (!spec.any_size() && own != image.with_n(1)))
    fail("use one that was trained on the same images", "the guide {} has images of shape {}, the model {}",
         chosen_->guide(), own.text(), image.with_n(1).text());
  return use.make(*guide_, largest_batch, image);
}

sample::Attraction SamplerChoice::make_attraction(const Shape& image) const {
  return classes_ ? classes_->attraction(image) : sample::Attraction{};
}

}  // namespace mdsm::app

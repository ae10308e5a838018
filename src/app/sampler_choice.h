// --sampler and the options of the samplers offered, shared by the commands that sample: a row of
// sample/registry.h by its name. An option that the chosen sampler has no use for is refused instead of
// ignored.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/classifier_guidance.h"
#include "app/model_use.h"
#include "core/options.h"
#include "sample/registry.h"

namespace mdsm::app {

class SamplerChoice {
 public:
  // names: the samplers offered, the first one is the default.
  void declare(OptionSet& options, const std::vector<std::string>& names);
  // After parsing: completes the chosen sampler's options from what the model file says
  // (network::Model::info) and checks them.
  void resolve(OptionSet& options, const nlohmann::json& info);

  const std::string& name() const { return name_; }
  const sample::Sampler& sampler() const { return *chosen_; }  // after resolve()
  // The model that guides the sampler, for images of this shape; null where there is none. It goes into
  // Run::guide.
  std::unique_ptr<engine::EnergyModel> make_guide(const ModelUse& use, int64_t largest_batch,
                                                  const Shape& image) const;
  // What samples are to show, for images of this shape; empty where nothing was said. It goes into
  // Run::attraction and is used no longer than this object.
  sample::Attraction make_attraction(const Shape& image) const;
  // The classes, in turn by seed; none where nothing was said.
  std::vector<std::string> classes() const {
    return classes_ ? classes_->classes() : std::vector<std::string>{};
  }
  sample::Samples draw(const sample::Run& run) const { return chosen_->draw(run); }
  // Everything that the samples depend on, and nothing else.
  const nlohmann::json& parameters() const { return parameters_; }

 private:
  void resolve_classes(const OptionSet& options);
  void resolve_guide(const OptionSet& options);

  std::string name_;
  std::vector<std::pair<std::string, std::unique_ptr<sample::Sampler>>> offered_;
  const sample::Sampler* chosen_ = nullptr;
  std::optional<network::Model> guide_;
  std::unique_ptr<const ClassifierGuidance> classes_;
  nlohmann::json parameters_;
};

}  // namespace mdsm::app

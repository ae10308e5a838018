// The samplers by name. A sampler is one function (langevin.h, hmc.h, fast.h); here each gets its options and
// the defaults that depend on the model, so that commands, evaluation and other programs choose one by name.
// To add one: one source file with a class like those of this folder, and one row in registry.cpp; a program
// of one's own calls samplers().add() instead. Help, configuration keys and documentation follow from the
// row.
#pragma once

#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/options.h"
#include "core/registry.h"
#include "sample/sampler.h"

namespace mdsm::sample {

// A sampler with its options.
class Sampler {
 public:
  virtual ~Sampler() = default;

  // Its options; the values that its variables have are the defaults.
  virtual void declare(OptionSet& options) = 0;
  // After parsing: takes defaults from the model, completes and checks the options. info: what a model file
  // says about itself ("trained", "sampling"), an object.
  virtual void resolve(OptionSet& options, const nlohmann::json& info) = 0;
  virtual Samples draw(const Run& run) const = 0;

  // Where the samples start; nothing where the sampler's own start is the one wanted.
  virtual std::optional<Tensor> start(const Run& /*run*/) const { return std::nullopt; }
  // The model that guides it, by name: Run::guide. Empty: none.
  virtual std::string guide() const { return ""; }
  // The classes that samples are to show, in turn, and the classifier that knows them: Run::attraction.
  // Empty: whatever comes.
  struct Wanted {
    std::string classes, classifier;
    double highest = 0;  // noise level at which the classifier is asked
  };
  virtual Wanted wanted() const { return {}; }
  // Whether all steps are at one temperature, so that R-hat and the effective sample size mean something.
  virtual bool fixed_temperature() const { return false; }
  // `values` holds the sampler's options; leaves in it what the samples depend on, and adds what is missing.
  virtual void complete(nlohmann::json& /*values*/) const {}
};

struct SamplerRow {
  std::string name, what;  // what: one line for people
  std::function<std::unique_ptr<Sampler>()> make;
};

Registry<SamplerRow>& samplers();

// In place of --steps 0, which is no number of steps.
void check_steps_given(const OptionSet& options, int64_t steps);

}  // namespace mdsm::sample

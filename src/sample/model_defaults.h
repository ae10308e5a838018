// Defaults of samplers that a model file carries, so that a model is sampled as was found best for it:
// {"multistep": {"churn": 16}} in its "sampling". What the user gives wins.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/options.h"

namespace mdsm::sample {

// list: options of multistep, as in "churn=16,hot=10", checked as the command line checks them; option: whose
// value it is, for messages. An object for "sampling"; empty for an empty list.
nlohmann::json model_defaults(const std::string& list, const std::string& option);

// After choose(): the defaults of this sampler. info: what a model file says about itself. Names that the
// sampler does not know, of another version, are left out.
void take_model_defaults(OptionSet& options, const nlohmann::json& info, const std::string& sampler);

}  // namespace mdsm::sample

// What a resumed run may change of its options, and the fingerprint of those it may not.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

#include "core/options.h"
#include "train/objectives.h"

namespace mdsm::train {

// Merges the recorded options of a run into `set`. What the user gave beside them must be equal to what is
// recorded, or one of the few options that a resumed run may change. `defaults` are the options as declared:
// what a run of an older program has not recorded, it had by default.
void apply_recorded(OptionSet& set, const ObjectiveChoice& choice, const nlohmann::json& recorded,
                    const nlohmann::json& defaults, const std::string& where);

// A fingerprint of the options that a resume may not change. Options that came after the first version take
// part only where they differ from their default, so that runs from before them keep theirs.
std::string options_hash(const nlohmann::json& resolved, const nlohmann::json& defaults,
                         const ObjectiveChoice& choice);

}  // namespace mdsm::train

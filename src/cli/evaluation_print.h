// The result of mdsm evaluate for people.
#pragma once

#include <nlohmann/json.hpp>

namespace mdsm::cli {

void print_evaluation(const nlohmann::json& found);

}  // namespace mdsm::cli

// The report of a reproduction: one HTML file with everything inside it (figures, tables of our figures
// beside the paper's, commands), no script, readable on a telephone.
#pragma once

#include <string>
#include <vector>

#include "reproduce/runner.h"

namespace mdsm::reproduce {

struct ReportAbout {
  std::string program;  // "mdsm 0.3.0 (commit)"
  std::string machine;
  std::string date;
  std::string command;  // the call that made it
};

std::string html_report(const std::vector<Outcome>& outcomes, const ReproduceOptions& options,
                        const ReportAbout& about);

// "12.30 ± 0.05"; "–" where there is no number.
std::string result_text(const RecipeResult& result, const Recipe& recipe, const ReproduceOptions& options);

}  // namespace mdsm::reproduce

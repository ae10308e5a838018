// The path of annealed importance sampling as numbers: beta_0 = 0 < beta_1 < ... < beta_K = 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "core/enum_names.h"

namespace mdsm::eval {

std::vector<double> exponential_betas(int64_t distributions, double first = 1e-4);  // beta_1 = first
std::vector<double> linear_betas(int64_t distributions);
// One a line, increasing, from 0 to 1; a missing 0 or 1 is added.
std::vector<double> parse_betas(const std::string& text, const std::string& name);

// Which of them, and what they need.
struct BetaSchedule {
  enum class Kind { exponential, linear, file };
  friend constexpr auto enum_names(Kind) {
    return names_of<Kind>({{Kind::exponential, "exp"}, {Kind::linear, "linear"}, {Kind::file, "file"}});
  }

  Kind kind = Kind::exponential;
  std::string file;              // kind file: the betas as text
  int64_t distributions = 1000;  // K; a file has its own
  double first = 1e-4;           // exponential: beta_1

  // "exp", "linear", or else the name of a file.
  void set_text(const std::string& text);
  std::string text() const;
  std::vector<double> betas() const;
};

}  // namespace mdsm::eval

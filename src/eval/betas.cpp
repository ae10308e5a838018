#include "eval/betas.h"

#include <cmath>

#include "core/error.h"
#include "core/files.h"
#include "sample/schedule.h"

namespace mdsm::eval {

std::vector<double> exponential_betas(int64_t distributions, double first) {
  if (distributions < 1) fail_usage("use at least one", "{} distributions", distributions);
  if (!(first > 0 && first < 1)) fail_usage("use a number between 0 and 1", "a first beta of {}", first);
  std::vector<double> betas{0};
  for (int64_t k = 1; k < distributions; ++k)
    betas.push_back(
        std::pow(first, static_cast<double>(distributions - k) / static_cast<double>(distributions - 1)));
  betas.push_back(1);
  return betas;
}

std::vector<double> linear_betas(int64_t distributions) {
  if (distributions < 1) fail_usage("use at least one", "{} distributions", distributions);
  std::vector<double> betas;
  for (int64_t k = 0; k <= distributions; ++k)
    betas.push_back(static_cast<double>(k) / static_cast<double>(distributions));
  return betas;
}

std::vector<double> parse_betas(const std::string& text, const std::string& name) {
  std::vector<double> betas = sample::parse_schedule(text, name, "beta");
  for (size_t i = 0; i < betas.size(); ++i) {
    if (betas[i] > 1) fail("write numbers from 0 to 1", "{}: a beta of {}", name, betas[i]);
    if (i > 0 && betas[i] <= betas[i - 1])
      fail("write them from 0 up to 1", "{}: {} after {}", name, betas[i], betas[i - 1]);
  }
  if (betas.front() > 0) betas.insert(betas.begin(), 0);
  if (betas.back() < 1) betas.push_back(1);
  return betas;
}

void BetaSchedule::set_text(const std::string& text) {
  kind = text == to_string(Kind::exponential) ? Kind::exponential
         : text == to_string(Kind::linear)    ? Kind::linear
                                              : Kind::file;
  file = kind == Kind::file ? text : "";
}

std::string BetaSchedule::text() const { return kind == Kind::file ? file : to_string(kind); }

std::vector<double> BetaSchedule::betas() const {
  switch (kind) {
    case Kind::exponential:
      return exponential_betas(distributions, first);
    case Kind::linear:
      return linear_betas(distributions);
    case Kind::file:
      return parse_betas(read_text(file), file);
  }
  fail("this is a bug in the caller", "a schedule of an unknown kind");
}

}  // namespace mdsm::eval

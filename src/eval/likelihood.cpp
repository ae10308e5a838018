#include "eval/likelihood.h"

#include <cmath>
#include <numbers>

namespace mdsm::eval {
namespace {

using nlohmann::json;

LogLikelihood log_likelihood(double nats, double error, int64_t dimensions) {
  return {nats, error, bits_per_dim(nats, dimensions),
          error / (static_cast<double>(dimensions) * std::numbers::ln2)};
}

std::optional<LogLikelihood> with_bound(const std::optional<Mean>& energy, const std::optional<LogZ>& z,
                                        int64_t dimensions) {
  if (!energy || !z) return std::nullopt;
  return log_likelihood(-energy->mean - z->bound, std::hypot(energy->error, z->bound_error), dimensions);
}

double accepted_share(const AisChains& chains, int64_t distributions) {
  double sum = 0;
  for (const int64_t count : chains.accepted) sum += static_cast<double>(count);
  return sum / static_cast<double>(chains.accepted.size()) / static_cast<double>(distributions);
}

json to_json(const LogZ& z, double acceptance) {
  return {{"bound", z.bound},       {"bound_se", z.bound_error},       {"std", z.std},
          {"estimate", z.estimate}, {"estimate_se", z.estimate_error}, {"ess", z.ess},
          {"chains", z.n},          {"acceptance", acceptance}};
}

json to_json(const LogLikelihood& value) {
  return {{"nats", value.nats},
          {"nats_se", value.error},
          {"bits_per_dim_unit_pixels", value.bits.unit},
          {"bits_per_dim_byte_pixels", value.bits.byte},
          {"bits_per_dim_se", value.bits_error}};
}

}  // namespace

std::optional<double> Likelihood::gap() const {
  if (!forward || !reverse) return std::nullopt;
  return reverse->bound - forward->bound;
}

Likelihood likelihood_of(const AisRun& run, const AisPlan& plan, int64_t dimensions,
                         std::span<const float> energies, bool on_images) {
  Likelihood result;
  result.dimensions = dimensions;
  result.distributions = plan.distributions();
  const AisChains &forward = run.chains(Direction::forward), &reverse = run.chains(Direction::reverse);
  if (plan.goes(Direction::forward)) {
    result.forward = estimate_log_z(forward.log_weight, Direction::forward);
    result.forward_acceptance = accepted_share(forward, plan.distributions());
  }
  if (plan.goes(Direction::reverse)) {
    result.reverse = estimate_log_z(reverse.log_weight, Direction::reverse);
    result.reverse_acceptance = accepted_share(reverse, plan.distributions());
  }
  if (!energies.empty()) result.energy = mean_of(std::vector<double>(energies.begin(), energies.end()));
  result.highest = with_bound(result.energy, result.forward, dimensions);
  result.lowest = with_bound(result.energy, result.reverse, dimensions);
  if (plan.goes(Direction::reverse) && on_images) {
    std::vector<double> values;
    for (size_t i = 0; i < reverse.log_weight.size(); ++i)
      values.push_back(-reverse.start_energy[i] - reverse.log_weight[i]);
    const Mean mean = mean_of(values);
    result.paired = log_likelihood(mean.mean, mean.error, dimensions);
  }
  return result;
}

json to_json(const Likelihood& result) {
  json values = {{"dimensions", result.dimensions}, {"distributions", result.distributions}};
  if (result.forward) values["log_z_lower"] = to_json(*result.forward, result.forward_acceptance);
  if (result.reverse) values["log_z_upper"] = to_json(*result.reverse, result.reverse_acceptance);
  if (const auto gap = result.gap()) {
    values["gap_nats"] = *gap;
    values["gap_bits_per_dim"] = *gap / (static_cast<double>(result.dimensions) * std::numbers::ln2);
  }
  if (result.energy)
    values["energy"] = {{"n", result.energy->n}, {"mean", result.energy->mean}, {"se", result.energy->error}};
  if (result.highest) values["log_p_upper"] = to_json(*result.highest);
  if (result.lowest) values["log_p_lower"] = to_json(*result.lowest);
  if (result.paired) {
    values["log_p_paired"] = to_json(*result.paired);
    values["log_p_paired"]["n"] = result.reverse->n;
  }
  return values;
}

}  // namespace mdsm::eval

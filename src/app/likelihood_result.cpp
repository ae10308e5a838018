// The result of `mdsm likelihood` as JSON and as text.
#include "app/likelihood.h"
#include "core/error.h"
#include "eval/mean.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

constexpr const char* kConvention =
    "a density over pixels in [0,1] (as the network takes them) or in [0,255] (log2 255 = 7.994 more)";

// The upper bound has a condition, said beside the number so that nobody takes it for more than it is.
json likelihood_json(const LikelihoodResult& result) {
  json values = eval::to_json(result.likelihood);
  if (!result.likelihood.reverse) return values;
  json& upper = values["log_z_upper"];
  upper["starts_at_model_samples"] = result.from_samples();
  upper["bounds_log_z"] = "in expectation, if its chains start at samples of the model";
  if (result.likelihood.lowest) values["log_p_lower"]["is_bound_if_starts_are_model_samples"] = true;
  return values;
}

void print_annealing(const LikelihoodResult& result) {
  const LikelihoodOptions& options = result.options;
  fmt::print(
      "annealing    K = {} distributions ({}), {} leapfrog steps each, {} chains a direction, seed {}\n",
      options.plan.distributions(), options.schedule.text(), options.plan.options.leapfrog,
      options.plan.chains, options.seed);
  fmt::print("reference    Gaussian, {} mean, standard deviation {:.4g} ({})\n",
             options.reference == eval::ReferenceMean::constant
                 ? fmt::format("constant {:g}", options.reference_mean)
                 : "image",
             result.reference_std, options.reference_std > 0 ? "given" : "fitted");
}

void print_bound(const char* title, const char* sign, const eval::LogZ& z, double acceptance) {
  fmt::print("{:<12} log Z {} {} (mean of log w); log of the mean {}, ESS {:.1f} of {}; acceptance {:.2f}\n",
             title, sign, eval::with_error(z.bound, z.bound_error, 2),
             eval::with_error(z.estimate, z.estimate_error, 2), z.ess, z.n, acceptance);
}

void print_bounds(const LikelihoodResult& result) {
  const eval::Likelihood& found = result.likelihood;
  if (found.forward) print_bound("forward", ">=", *found.forward, found.forward_acceptance);
  if (found.reverse) {
    print_bound("reverse", "<=", *found.reverse, found.reverse_acceptance);
    fmt::print("{:<12} <= holds if these starts are samples of the model{}: {}\n", "",
               result.from_samples() ? "" : ", which data are not unless it has learnt them perfectly",
               result.reverse_start);
  }
  if (const auto gap = found.gap())
    fmt::print("gap          {:.2f} nats, {:.4f} bits/dim\n", *gap,
               -eval::bits_per_dim(*gap, found.dimensions).unit);
}

void print_side(const char* title, const eval::LogLikelihood& p, const std::string& how) {
  fmt::print("{:<12} {} nats an image; bits/dim {} in [0,1], {:.4f} in [0,255] ({})\n", title,
             eval::with_error(p.nats, p.error, 2), eval::with_error(p.bits.unit, p.bits_error, 4),
             p.bits.byte, how);
}

void print_sides(const eval::Likelihood& found) {
  if (found.lowest)
    print_side("log p, low", *found.lowest,
               "reverse: bits/dim at most this, if its starts are samples of the model");
  if (found.highest) print_side("log p, high", *found.highest, "forward: bits/dim at least");
  if (found.paired)
    print_side("log p, paper", *found.paired,
               fmt::format("mean over the {} reverse chains' own images", found.reverse->n));
}

}  // namespace

json file_json(const LikelihoodResult& result) {
  return {{"parameters", result.parameters},
          {"result", likelihood_json(result)},
          {"convention", kConvention},
          {"reference", {{"mean", to_string(result.options.reference)}, {"std", result.reference_std}}},
          {"images", result.images ? json(*result.images) : json()},
          {"reverse_start", result.reverse_start},
          {"leapfrog_steps", result.leapfrog_steps},
          {"log_weights", {{"forward", result.forward_weights}, {"reverse", result.reverse_weights}}}};
}

json to_json(const LikelihoodResult& result) {
  json values = file_json(result);
  values["out"] = result.options.out;
  return values;
}

void print(const LikelihoodResult& result) {
  const eval::Likelihood& found = result.likelihood;
  print_annealing(result);
  print_bounds(result);
  if (found.energy)
    fmt::print("energy       {}, mean of {} images\n",
               eval::with_error(found.energy->mean, found.energy->error, 2), found.energy->n);
  print_sides(found);
  fmt::print("bits/dim     {} dimensions; {}\nwritten      {}\n", found.dimensions, kConvention,
             (fs::path(result.options.out) / "likelihood.json").string());
}

}  // namespace mdsm::app

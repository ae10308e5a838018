// The result of `mdsm likelihood --method denoising` as JSON and as text.
#include <cmath>

#include "app/denoising_likelihood.h"
#include "core/error.h"
#include "eval/log_z.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

constexpr const char* kMeaning =
    "a bound for the denoising process of the model, not for exp(-E)/Z; what --method ais bounds is another";

json to_json(const eval::Mean& mean) { return {{"nats", mean.mean}, {"nats_se", mean.error}}; }

// The reported loss of training, over noise levels spread geometrically between the lowest and the highest.
eval::Mean mean_loss(const DenoisingLikelihoodResult& result) {
  const double width = std::log(result.options.bound.high / result.options.bound.low);
  const eval::Mean& integral = result.bound.integral;
  return {.n = integral.n, .mean = integral.mean / width, .error = integral.error / width};
}

json levels_json(const eval::DenoisingBound& bound) {
  json levels = json::array();
  for (size_t i = 0; i < bound.sigma.size(); ++i)
    levels.push_back(
        {{"sigma", bound.sigma[i]}, {"loss", bound.loss[i].mean}, {"loss_se", bound.loss[i].error}});
  return levels;
}

json bound_json(const DenoisingLikelihoodResult& result) {
  const eval::DenoisingBound& bound = result.bound;
  json values = {{"method", "denoising"},
                 {"meaning", kMeaning},
                 {"n", bound.nats.n},
                 {"dimensions", bound.dimensions},
                 {"nats", bound.nats.mean},
                 {"nats_se", bound.nats.error},
                 {"loss", mean_loss(result).mean},
                 {"loss_se", mean_loss(result).error},
                 {"bits_per_dim_se", bound.bits(bound.nats.error)},
                 {"bits_per_dim_se_noise", bound.bits(bound.noise_error)},
                 {"bits_per_dim_quadrature", bound.bits(bound.quadrature_error)},
                 {"terms",
                  {{result.options.clean ? "last_step" : "noise_entropy", to_json(bound.first)},
                   {"integral", to_json(bound.integral)},
                   {"above_highest_noise", to_json(bound.tail)}}},
                 {"levels", levels_json(bound)}};
  if (result.options.clean) {
    values["bits_per_dim"] = bound.bits(bound.nats.mean);
    values["last_step_width"] = *result.options.bound.last_step;
  } else {
    const eval::BitsPerDim bits = eval::bits_per_dim(-bound.nats.mean, bound.dimensions);
    values["bits_per_dim_unit_pixels"] = bits.unit, values["bits_per_dim_byte_pixels"] = bits.byte;
  }
  return values;
}

void print_levels(const eval::DenoisingBound& bound) {
  fmt::print("noise        loss E|x - D|²/sigma²\n");
  for (size_t i = 0; i < bound.sigma.size(); ++i)
    fmt::print("{:<12.4f} {}\n", bound.sigma[i],
               eval::with_error(bound.loss[i].mean, bound.loss[i].error, 2));
}

void print_bits(const DenoisingLikelihoodResult& result) {
  const eval::DenoisingBound& bound = result.bound;
  const double error = bound.bits(bound.nats.error);
  if (result.options.clean) {
    fmt::print("bits/dim     at most {} for clean images of 8 bits\n",
               eval::with_error(bound.bits(bound.nats.mean), error, 4));
  } else {
    const eval::BitsPerDim bits = eval::bits_per_dim(-bound.nats.mean, bound.dimensions);
    fmt::print("bits/dim     at most {} in [0,255], {:.4f} in [0,1], for images with noise {:g} on top\n",
               eval::with_error(bits.byte, error, 4), bits.unit, result.options.bound.low);
  }
  fmt::print("             {}\n", kMeaning);
  fmt::print(
      "errors       bits/dim: {:.4f} from images and noise together, {:.4f} of it from noise; quadrature "
      "below {:.4f}\n",
      error, bound.bits(bound.noise_error), bound.bits(bound.quadrature_error));
}

}  // namespace

json file_json(const DenoisingLikelihoodResult& result) {
  return {{"parameters", result.parameters},
          {"result", bound_json(result)},
          {"images", result.images},
          {"wiener", {{"images", result.fitted}, {"n", result.fitted_images}}},
          {"nats_per_image", result.bound.per_image}};
}

json to_json(const DenoisingLikelihoodResult& result) {
  json values = file_json(result);
  values["out"] = result.options.out;
  return values;
}

void print(const DenoisingLikelihoodResult& result) {
  const eval::DenoisingBound& bound = result.bound;
  const DenoisingLikelihoodOptions& options = result.options;
  fmt::print("images       {} ({})\n", bound.nats.n, result.images);
  fmt::print("integral     {} nodes from {:g} to {:g}, {} draws each, seed {}\n", options.bound.nodes,
             options.bound.low, options.bound.high, options.bound.draws, options.seed);
  print_levels(bound);
  fmt::print("loss         {}, mean over noise {:g} to {:g} spread geometrically\n",
             eval::with_error(mean_loss(result).mean, mean_loss(result).error, 2), options.bound.low,
             options.bound.high);
  fmt::print("nats         {} {:.2f}, integral {:.2f}, above {:g} {:.2f} (Wiener filter of {} images)\n",
             options.clean ? "last step" : "noise", bound.first.mean, bound.integral.mean, options.bound.high,
             bound.tail.mean, result.fitted_images);
  print_bits(result);
  fmt::print("written      {}\n", (fs::path(options.out) / "likelihood.json").string());
}

}  // namespace mdsm::app

#include "app/picture_sampling.h"

#include "restore/halves.h"
#include "sample/annealed_sampler.h"
#include "sample/fast_sampler.h"

namespace mdsm::app {
namespace {

// Calls draw(run) with the start that was chosen.
template <class Draw>
sample::Samples with_start(const PictureSampling& sampling, sample::Run run, const Draw& draw) {
  std::optional<Tensor> start;
  if (sampling.start) start = sampling.start(run);
  if (start) run.start = start->view();
  return draw(run);
}

// The options that were given, for a start from what was measured.
sample::FastOptions given_over(sample::FastOptions out, const sample::FastOptions& fast,
                               const OptionSet& options) {
  if (options.given("steps")) out.evaluations = fast.evaluations;
  if (options.given("h0")) out.h0 = fast.h0;
  if (options.given("beta")) out.beta = fast.beta;
  if (options.given("sigma-end")) out.sigma_end = fast.sigma_end;
  if (options.given("sigma-max")) out.sigma_max = fast.sigma_max;
  out.jump = fast.jump;
  return out;
}

}  // namespace

sample::Samples PictureSampling::inpaint(const sample::Run& given, ConstTensorView images,
                                         const image::Mask& mask) const {
  return with_start(*this, given, [&](const sample::Run& run) {
    return method == InpaintMethod::annealed
               ? restore::inpaint_annealed(run, images, mask, temperatures, langevin)
               : restore::inpaint_fast(run, images, mask, fast);
  });
}

sample::Samples PictureSampling::inpaint_from(const sample::Run& given, ConstTensorView images,
                                              const image::Mask& mask, ConstTensorView half) const {
  sample::FastOptions finer = kFromMeasured;
  finer.jump = fast.jump;
  return restore::inpaint_finer(given, images, mask, half, finer);
}

sample::Samples PictureSampling::solve(const sample::Run& given,
                                       const restore::LinearMeasurement& measurement, ConstTensorView lifted,
                                       RestoreStart start_at) const {
  if (start_at == RestoreStart::measured) {
    const Tensor near_end = restore::start_from(given, lifted, from_measured.sigma_max);
    sample::Run run = given;
    run.start = near_end.view();
    return restore::restore(run, measurement, lifted, from_measured);
  }
  return with_start(*this, given,
                    [&](const sample::Run& run) { return restore::restore(run, measurement, lifted, fast); });
}

nlohmann::json from_measured_json(const sample::FastOptions& options) {
  return {{"steps", options.evaluations},   {"h0", options.h0},
          {"beta", options.beta},           {"sigma-end", options.sigma_end},
          {"sigma-max", options.sigma_max}, {"hot", 0}};
}

ChooseSampling chosen_sampling(SamplerChoice& choice, OptionSet& options) {
  return [&](const network::Model& model) {
    choice.resolve(options, model.info);
    const sample::Sampler& sampler = choice.sampler();
    PictureSampling chosen;
    chosen.parameters = choice.parameters();
    chosen.start = [&](const sample::Run& run) { return sampler.start(run); };
    if (const auto* annealed = dynamic_cast<const sample::AnnealedSampler*>(&sampler)) {
      chosen.method = InpaintMethod::annealed;
      chosen.temperatures = annealed->temperatures();
      chosen.langevin = annealed->langevin();
    } else {
      chosen.fast = dynamic_cast<const sample::FastSampler&>(sampler).options();
      chosen.from_measured = given_over(kFromMeasured, chosen.fast, options);
    }
    return chosen;
  };
}

}  // namespace mdsm::app

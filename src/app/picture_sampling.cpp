#include "app/picture_sampling.h"

#include "sample/annealed_sampler.h"
#include "sample/fast_sampler.h"

namespace mdsm::app {
namespace {

// Calls draw(run) with the start that was chosen.
template <class Draw>
sample::Samples with_start(const PictureSampling& sampling, sample::Run run, const Draw& draw) {
  std::optional<Tensor> start;
  if (sampling.start) start = sampling.start(run.model.image_shape(), run.seeds);
  if (start) run.start = start->view();
  return draw(run);
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

sample::Samples PictureSampling::solve(const sample::Run& given,
                                       const restore::LinearMeasurement& measurement,
                                       ConstTensorView lifted) const {
  return with_start(*this, given,
                    [&](const sample::Run& run) { return restore::restore(run, measurement, lifted, fast); });
}

ChooseSampling chosen_sampling(SamplerChoice& choice, OptionSet& options) {
  return [&](const network::Model& model) {
    choice.resolve(options, model.info);
    const sample::Sampler& sampler = choice.sampler();
    PictureSampling chosen;
    chosen.parameters = choice.parameters();
    chosen.start = [&](const Shape& image, std::span<const uint64_t> seeds) {
      return sampler.start(image, seeds);
    };
    if (const auto* annealed = dynamic_cast<const sample::AnnealedSampler*>(&sampler)) {
      chosen.method = InpaintMethod::annealed;
      chosen.temperatures = annealed->temperatures();
      chosen.langevin = annealed->langevin();
    } else {
      chosen.fast = dynamic_cast<const sample::FastSampler&>(sampler).options();
    }
    return chosen;
  };
}

}  // namespace mdsm::app

#include "sample/annealed_sampler.h"

namespace mdsm::sample {

using nlohmann::json;

void declare_start(OptionSet& options, double& start_sigma) {
  options.add("start-sigma", start_sigma, "samples start at 0.5 + this times normal noise").range(0, 1000);
}

std::optional<Tensor> start_of(const Run& run, double start_sigma) {
  if (start_sigma == 1) return std::nullopt;
  return start_images(run.model.image_shape(), run.seeds, start_sigma, run.place);
}

void declare_jump(OptionSet& options, bool& jump) {
  options.add("jump", jump, "end with one denoising jump; --no-jump leaves it out");
}

Samples draw_from(const Sampler& sampler, Run run, const std::function<Samples(const Run&)>& draw) {
  const std::optional<Tensor> own = sampler.start(run);
  if (!run.start && own) run.start = own->view();
  return draw(run);
}

void AnnealedSampler::declare(OptionSet& options) {
  options.add("eps", langevin_.eps, "step size").range(1e-6, 10);
  temperatures_.declare(options);
  declare_start(options, start_sigma_);
  declare_jump(options, langevin_.jump);
}

// The model's own annealing, where its file has one.
void AnnealedSampler::resolve(OptionSet& options, const json& info) {
  if (const json own = info.value("sampling", json()); own.is_object()) {
    const auto take = [&](const char* option, const json& value) {
      if (value.is_number()) options.set_default(option, value.dump());
    };
    take("eps", own.value("eps", json()));
    if (const json range = own.value("temperature", json()); range.is_array() && range.size() == 2) {
      take("temperature-high", range[0]);
      take("temperature-low", range[1]);
    }
    take("steps-hot", own.value("steps_hot", json()));
    take("steps-cool", own.value("steps_cool", json()));
    take("steps-end", own.value("steps_end", json()));
  }
  temperatures_.resolve(options);
}

Samples AnnealedSampler::draw(const Run& given) const {
  return draw_from(*this, given,
                   [&](const Run& run) { return annealed_langevin(run, temperatures(), langevin_); });
}

std::optional<Tensor> AnnealedSampler::start(const Run& run) const { return start_of(run, start_sigma_); }

}  // namespace mdsm::sample

// How the results for pictures are sampled: a choice with nothing left open. The only place where completing
// and restoring meet the sampler options of the command line.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <vector>

#include "app/sampler_choice.h"
#include "network/model_file.h"
#include "restore/restore.h"

namespace mdsm::app {

enum class InpaintMethod { fast, annealed };
constexpr auto enum_names(InpaintMethod) {
  return names_of<InpaintMethod>({{InpaintMethod::fast, "fast"}, {InpaintMethod::annealed, "annealed"}});
}

struct PictureSampling {
  InpaintMethod method = InpaintMethod::fast;
  sample::FastOptions fast;
  std::vector<double> temperatures;  // annealed: one a step
  sample::LangevinOptions langevin;
  // Where samples of these seeds start; nothing: where the sampler starts by itself.
  std::function<std::optional<Tensor>(const Shape& image, std::span<const uint64_t> seeds)> start;
  nlohmann::json parameters = nlohmann::json::object();  // for files that say how they were made

  // images, mask: one for each seed of the run.
  sample::Samples inpaint(const sample::Run& run, ConstTensorView images, const image::Mask& mask) const;
  // lifted: LinearMeasurement::lift() of what was measured.
  sample::Samples solve(const sample::Run& run, const restore::LinearMeasurement& measurement,
                        ConstTensorView lifted) const;
};

// Defaults depend on the model, so a job asks for the choice when it has one.
using ChooseSampling = std::function<PictureSampling(const network::Model& model)>;

// sampler: declared in `options`, which are parsed; both must outlive the result.
ChooseSampling chosen_sampling(SamplerChoice& sampler, OptionSet& options);

}  // namespace mdsm::app

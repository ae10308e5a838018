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

// What enlarging and deblurring start from: noise, as samples do, or what was measured with a little noise.
// automatic: measured where a picture is worked on in windows.
enum class RestoreStart { automatic, noise, measured };
constexpr auto enum_names(RestoreStart) {
  return names_of<RestoreStart>({{RestoreStart::automatic, "automatic"},
                                 {RestoreStart::noise, "noise"},
                                 {RestoreStart::measured, "measured"}});
}
// Of the start from what was measured (docs/sampling.md has the figures).
constexpr sample::FastOptions kFromMeasured{
    .h0 = 0.3, .beta = 0.5, .sigma_end = 0.01, .evaluations = 8, .sigma_max = 0.2};

struct PictureSampling {
  InpaintMethod method = InpaintMethod::fast;
  sample::FastOptions fast;
  sample::FastOptions from_measured = kFromMeasured;
  bool coarse = true;                // fast: coarser scales of large pictures first (coarse_to_fine.h)
  std::vector<double> temperatures;  // annealed: one a step
  sample::LangevinOptions langevin;
  // Where the samples of a run start; nothing: where the sampler starts by itself.
  std::function<std::optional<Tensor>(const sample::Run& run)> start;
  nlohmann::json parameters = nlohmann::json::object();  // for files that say how they were made

  // images, mask: one for each seed of the run.
  sample::Samples inpaint(const sample::Run& run, ConstTensorView images, const image::Mask& mask) const;
  // The same of images that are complete at half their size (N,C,(H+1)/2,(W+1)/2).
  sample::Samples inpaint_from(const sample::Run& run, ConstTensorView images, const image::Mask& mask,
                               ConstTensorView half) const;
  // lifted: LinearMeasurement::lift() of what was measured.
  sample::Samples solve(const sample::Run& run, const restore::LinearMeasurement& measurement,
                        ConstTensorView lifted, RestoreStart start = RestoreStart::noise) const;
};

// The names of the sampler's options; no hot steps, for they would forget the start.
nlohmann::json from_measured_json(const sample::FastOptions& options);

// Defaults depend on the model, so a job asks for the choice when it has one.
using ChooseSampling = std::function<PictureSampling(const network::Model& model)>;

// sampler: declared in `options`, which are parsed; both must outlive the result.
ChooseSampling chosen_sampling(SamplerChoice& sampler, OptionSet& options);

}  // namespace mdsm::app

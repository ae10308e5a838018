#include "app/denoising_likelihood.h"

#include <algorithm>
#include <cmath>

#include "app/output.h"
#include "app/world.h"
#include "core/error.h"
#include "core/progress.h"
#include "data/fingerprint.h"
#include "eval/energies.h"
#include "network/trained_noise.h"
#include "report/denoising_plot.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

constexpr int64_t kFitted = 1000;  // images that the Wiener filter and the last step are fitted to
// Four grey levels. The last step knows nothing about how pixels hang together; with more noise than this
// it would have to say most of the image by itself, and the bound would say little about the model.
constexpr double kCleanNoise = 4.0 / 255;

// Levels that were left open, from the model.
void complete(DenoisingLikelihoodOptions& options, const network::Model& model) {
  eval::BoundOptions& bound = options.bound;
  const auto trained = network::trained_noise(model.info);
  if (bound.high == 0 && !trained)
    fail_usage("give --sigma-max", "the model does not say what noise it was trained on");
  if (bound.high == 0) bound.high = trained->max;
  if (options.clean && trained && trained->min > kCleanNoise)
    fail_usage(
        "leave --clean out, or use a model trained with a smaller --sigma-min",
        "--clean needs a model trained down to noise {:.4f} (4 grey levels); this one was down to {:g}",
        kCleanNoise, trained->min);
  if (bound.low == 0 && options.clean && !trained)
    fail_usage("give --noise", "the model does not say what noise it was trained on");
  if (bound.low == 0) bound.low = options.clean ? trained->min : model.parameters.spec().sigma0;
  if (options.clean && bound.low > kCleanNoise)
    fail_usage("use less, or leave --clean out",
               "--add-noise {:g} with --clean: more than {:.4f}, 4 grey levels", bound.low, kCleanNoise);
  if (!(bound.low < bound.high))
    fail_usage("use less --add-noise or a larger --sigma-max", "noise {:g} is not below the highest, {:g}",
               bound.low, bound.high);
  bound.batch = options.use.batch;
  bound.seed = options.data.seed = static_cast<uint64_t>(options.seed);
}

// Training images where the source keeps them apart, otherwise any of its images.
std::unique_ptr<data::Dataset> fitting_images(const network::Model& model, data::DataOptions options) {
  options.split = data::Split::train;
  options.random_limit = true;
  options.limit = kFitted;
  return open_images(model, options);
}

// What the processes that share the images must have in common besides the options.
void check_ranks(const DenoisingLikelihoodOptions& options, const network::Model& model,
                 std::initializer_list<const data::Dataset*> images) {
  if (options.world->alone()) return;
  json same = {{"model-hash", model_parameters(options.use.model, model).at("model-hash")},
               {"lowest noise", options.bound.low},
               {"highest noise", options.bound.high}};
  std::string hashes;
  for (const data::Dataset* data : images) hashes += data::fingerprint(*data);
  same["fingerprint of the images"] = hashes;
  check_same(*options.world, same);
}

}  // namespace

DenoisingLikelihoodResult run_denoising_likelihood(const DenoisingLikelihoodOptions& given,
                                                   const std::atomic<bool>& stop) {
  DenoisingLikelihoodResult result;
  result.options = given;
  DenoisingLikelihoodOptions& options = result.options;
  const network::Model model = options.use.load();
  complete(options, model);
  const auto images = open_images(model, options.data);
  const auto fitting = fitting_images(model, options.data);
  const Shape image = image_shape(model, *images);
  for (const data::Dataset* data : {images.get(), fitting.get()}) eval::check_fits(image, *data);
  if (options.clean && !images->eight_bit())
    fail_usage("leave --clean out", "--clean is for images of 8 bits: {}", images->description());
  distributed::Communicator& world = *options.world;
  check_ranks(options, model, {images.get(), fitting.get()});
  if (world.first()) check_outputs(options.out, {"likelihood.json", "likelihood.svg"}, options.force);
  const auto engine = options.use.make(model, std::min(options.use.batch, images->size()), image);
  const eval::Denoiser denoise = eval::blind_denoiser(*engine);
  eval::BoundOptions& bound = options.bound;
  const eval::GaussianFit fit(*fitting, kFitted, bound.high);
  // The seed of the fitting images' noise is another, so that no image meets the same noise twice.
  if (options.clean)
    bound.last_step =
        eval::denoising_error(denoise, *fitting, kFitted / 4, bound.low,
                              std::min(options.use.batch, images->size()), bound.seed + 1, world);
  Progress progress("denoising", images->size() * bound.draws * (bound.nodes + options.clean), "images");
  const auto told = [&](int64_t done) {
    progress.update(done);
    if (stop) fail("start it again", "stopped; nothing is kept");
  };
  result.bound = eval::denoising_bound(denoise, *images, fit, bound, told, world);
  Progress::clear_line();
  if (!world.first()) return {};
  result.images = images->description(), result.fitted = fitting->description();
  result.fitted_images = fit.images();
  result.parameters = options.recorded;
  for (const char* key : {"out", "threads", "batch"}) result.parameters.erase(key);
  result.parameters.update(model_parameters(options.use.model, model));
  result.parameters["command"] = "likelihood";
  result.parameters["noise"] = bound.low, result.parameters["sigma-max"] = bound.high;
  make_folder(options.out);
  write_file(fs::path(options.out) / "likelihood.svg", report::denoising_plot(result.bound));
  write_json(fs::path(options.out) / "likelihood.json", file_json(result));
  return result;
}

}  // namespace mdsm::app

#include "app/output.h"
#include "app/score.h"
#include "app/version.h"
#include "core/error.h"
#include "core/json.h"
#include "core/progress.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

// From anywhere else the model must be found as well.
std::string lasting(const std::string& model) {
  std::error_code error;
  return fs::exists(model, error) ? fs::absolute(model).lexically_normal().string() : model;
}

json fitting_json(const data::DataOptions& data) {
  return {
      {"crop", data.crop}, {"resize", data.resize}, {"pad", data.pad}, {"colour", to_string(data.colour)}};
}

}  // namespace

FitDetectorResult fit_detector(const FitDetectorOptions& given) {
  FitDetectorOptions options = given;
  const auto seed = static_cast<uint64_t>(options.seed);
  options.detector.features.levels = eval::parse_levels(options.levels);
  options.detector.parts = eval::parse_parts(options.measures);
  options.detector.features.seed = options.detector.mixture.seed = options.detector.seed = seed;
  check_folder_of(options.out);
  check_output(options.out, options.force);
  const network::Model model = options.use.load();
  options.data.seed = seed;
  const std::shared_ptr<const data::Dataset> good = open_images(model, options.data);
  const Shape shape = image_shape(model, *good);
  const int64_t batch = batch_of(shape, options.use.batch);
  options.detector.features.batch = batch;
  const auto engine = options.use.make(model, batch, shape);

  std::optional<Progress> progress;
  const eval::Detector detector =
      eval::Detector::fit(*engine, good, options.detector, [&](int64_t done, int64_t of) {
        if (!progress) progress.emplace("fitting", of, "evaluations");
        progress->update(done);
      });
  progress.reset();
  FitDetectorResult result;
  result.out = options.out;
  result.images = good->description();
  result.fitted = detector.state().fitted;
  result.calibrated = static_cast<int64_t>(detector.state().calibration.size());
  result.scaled = good->size() - result.fitted - result.calibrated;
  result.rate = options.detector.rate;
  result.threshold = detector.threshold();
  result.parameters = model_parameters(lasting(options.use.model), model);
  result.parameters.update({{"images", result.images},
                            {"fitting", fitting_json(options.data)},
                            {"measures", options.measures},
                            {"version", version_text().substr(0, version_text().find('\n'))}});
  eval::save_detector(options.out, detector, json_text(result.parameters));
  return result;
}

json to_json(const FitDetectorResult& result) {
  return {{"detector", result.out},
          {"images", result.images},
          {"n_fit", result.fitted},
          {"n_scale", result.scaled},
          {"n_calibration", result.calibrated},
          {"rate", result.rate},
          {"threshold", result.threshold},
          {"parameters", result.parameters}};
}

void print(const FitDetectorResult& result) {
  fmt::print("images       {}\n", result.images);
  fmt::print("fitted to    {} of them; of the others {} set the scale of scores and {} the threshold\n",
             result.fitted, result.scaled, result.calibrated);
  fmt::print("threshold    {:.3f}, for a false-alarm rate of {:g}\n", result.threshold, result.rate);
  fmt::print("written      {}\n", result.out);
}

}  // namespace mdsm::app

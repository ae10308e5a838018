#include "app/classifier.h"

#include <algorithm>
#include <chrono>

#include "app/engine_options.h"
#include "app/features.h"
#include "app/output.h"
#include "core/error.h"
#include "core/log.h"
#include "core/progress.h"
#include "data/subset.h"
#include "train/run_folder.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

struct LabelledImages {
  std::shared_ptr<const data::Dataset> training, test;  // training: none where a classifier is only measured
  AccuracyOf of = AccuracyOf::all;                      // what the test images are
};

// The test part is what the accuracy is of, where there is one and it is not trained on.
LabelledImages open_training(const ClassifierOptions& options) {
  const std::shared_ptr<const data::Dataset> all = data::open_dataset(options.data);
  if (all->part() == data::Split::train) {
    data::DataOptions test = options.data;
    test.split = data::Split::test;
    test.limit = 0;
    return {all, data::open_dataset(test), AccuracyOf::test};
  }
  if (options.held_out <= 0) return {all, all, AccuracyOf::training};
  const data::HeldOut parts = data::hold_out(all, options.held_out, options.data.seed);
  return {parts.rest, parts.held_out, AccuracyOf::held_out};
}

LabelledImages open_measured(const ClassifierOptions& options) {
  const std::shared_ptr<const data::Dataset> images = data::open_dataset(options.data);
  const std::optional<data::Split> part = images->part();
  return {nullptr, images,
          !part                       ? AccuracyOf::all
          : part == data::Split::test ? AccuracyOf::test
                                      : AccuracyOf::training};
}

void check_stopped(const std::atomic<bool>& stop, const ClassifierOptions& options) {
  if (!stop) return;
  if (!options.measured.empty()) fail("start again", "stopped; the accuracy is not known");
  fail("start again; training takes minutes", "stopped; no classifier is written");
}

json training_json(const ClassifierOptions& options, const data::Dataset& images) {
  const classify::ClassifierTraining& training = options.training;
  json values = {{"data", train::source_name(options.data.source)},
                 {"images", images.size()},
                 {"epochs", training.epochs},
                 {"batch", training.batch},
                 {"lr", training.lr},
                 {"weight-decay", training.weight_decay},
                 {"shift", training.shift},
                 {"flip", training.flip},
                 {"seed", training.seed}};
  if (training.sigma_max > 0)
    values["sigma-min"] = training.sigma_min, values["sigma-max"] = training.sigma_max;
  return values;
}

classify::Classifier train(const ClassifierOptions& options, const data::Dataset& images,
                           const std::atomic<bool>& stop) {
  const classify::ClassifierTraining& training = options.training;
  Progress progress("training", training.epochs * (images.size() / std::min(training.batch, images.size())),
                    "steps");
  classify::Classifier classifier = classify::train_classifier(
      images, training,
      [&](const classify::EpochReport& report) {
        progress.update(report.step, fmt::format("loss {:.4f}", report.loss));
        if (report.step * report.epochs == report.epoch * report.steps && options.log_epochs)
          log_info("epoch {} of {}: loss {:.4f}, {:.2f} % right", report.epoch, report.epochs, report.loss,
                   100 * report.accuracy);
      },
      &stop);
  check_stopped(stop, options);
  classifier.info["trained"] = training_json(options, images);
  if (!options.full) classify::round_to_half(classifier);
  return classifier;
}

ClassifierResult measure(const ClassifierOptions& given, const std::atomic<bool>& stop) {
  ClassifierOptions options = given;
  options.training.seed = options.data.seed = static_cast<uint64_t>(options.seed);
  options.training.flip = options.data.flip;
  const auto start = std::chrono::steady_clock::now();
  classify::Classifier classifier;
  if (!options.measured.empty()) classifier = classify::load_classifier(classifier_path(options.measured));
  // Everything is opened before the training.
  const LabelledImages images = options.measured.empty() ? open_training(options) : open_measured(options);
  if (images.training) classifier = train(options, *images.training, stop);
  const classify::Accuracy found =
      classify::accuracy(classifier, *images.test, [&](int64_t) { check_stopped(stop, options); });
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!options.out.empty()) {
    classifier.info["accuracy"] = classify::to_json(found);
    classifier.info["accuracy_of"] = to_string(images.of);
    classify::save_classifier(options.out, classifier,
                              options.full ? io::StoredType::float32 : io::StoredType::float16);
  }
  return {found,           images.of,          images.test->description(),
          classifier.spec, classifier.classes, classifier.info,
          seconds,         options.out};
}

}  // namespace

ClassifierResult run_classifier(const ClassifierOptions& options, const std::atomic<bool>& stop) {
  if (!options.out.empty()) {
    check_folder_of(options.out);
    check_output(options.out, options.force);
  }
  use_threads(options.threads);
  ClassifierResult result = measure(options, stop);
  Progress::clear_line();
  return result;
}

json to_json(const ClassifierResult& result) {
  json values = {{"accuracy", classify::to_json(result.accuracy)},
                 {"accuracy_of", to_string(result.of)},
                 {"accuracy_data", result.data},
                 {"spec", classify::to_json(result.spec)},
                 {"classes", result.classes},
                 {"info", result.info},
                 {"seconds", result.seconds}};
  if (result.of == AccuracyOf::test || result.of == AccuracyOf::held_out) values["test"] = values["accuracy"];
  if (!result.out.empty()) values["out"] = result.out;
  return values;
}

void print(const ClassifierResult& result) {
  const classify::Accuracy& accuracy = result.accuracy;
  fmt::print("accuracy       {:.2f} % +- {:.2f} (standard error) of {}, n {}\n", 100 * accuracy.rate,
             100 * accuracy.standard_error, to_string(result.of), accuracy.n);
  fmt::print("images         {}\n", result.data);
  fmt::print("network        {} weights, {} features, {} classes\n",
             grouped(classify::weight_count(result.spec)), result.spec.features, result.spec.classes);
  fmt::print("time           {}\n", duration_text(result.seconds));
  if (!result.out.empty()) fmt::print("written        {}\n", result.out);
}

}  // namespace mdsm::app

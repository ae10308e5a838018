#include "app/modes.h"

#include "app/engine_options.h"
#include "app/features.h"
#include "app/model_use.h"
#include "app/output.h"
#include "classify/classifier.h"
#include "core/error.h"
#include "core/progress.h"
#include "eval/sample_source.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

eval::ModeCount count(const classify::Classifier& classifier, const data::Dataset& samples) {
  Progress progress("samples", samples.size(), "images");
  eval::ModeCount found =
      eval::count_stacked_modes(classifier, samples, [&](int64_t done) { progress.update(done); });
  Progress::clear_line();
  return found;
}

// What the file says about its own accuracy. It may come from anywhere and hold anything.
void take_accuracy(const json& info, ModesResult& result) {
  auto& classifier = result.classifier;
  classifier.accuracy = info.value("accuracy", json());
  classifier.accuracy_of = info.value("accuracy_of", json());
  const json& of = classifier.accuracy_of;
  classifier.rate_of = of.is_string() ? of.get<std::string>() : "its test set";
  if (!classifier.accuracy.is_object()) return;
  const json rate = classifier.accuracy.value("rate", json());
  if (rate.is_number()) classifier.rate = rate.get<double>();
}

}  // namespace

ModesResult run_modes(const ModesOptions& options) {
  if (!options.out.empty()) {
    check_folder_of(options.out);
    check_output(options.out, options.force);
  }
  use_threads(options.threads);
  const fs::path path =
      options.bundled ? default_classifier(options.classifier) : classifier_path(options.classifier);
  const classify::Classifier classifier = classify::load_classifier(path);
  const eval::SampleSource source = eval::sample_source(options.samples);
  data::DataOptions data = options.data;
  data.seed = static_cast<uint64_t>(options.seed);
  const auto samples = eval::open_samples(source, data);
  ModesResult result{count(classifier, *samples), samples->description(), source.seeds, {}};
  result.classifier.file = path.filename().string();
  take_accuracy(classifier.info, result);
  if (!options.out.empty()) write_json(options.out, file_json(result));
  return result;
}

json to_json(const ModesResult& result) {
  const eval::ModeCount& count = result.count;
  json values = {
      {"n", count.n},
      {"modes", count.modes},
      {"covered", count.covered},
      {"kl_to_uniform", count.divergence},
      {"covered_by_uniform_draws", count.expected_uniform},
      {"convention", "each channel classified alone; KL(samples || uniform) in nats, of the counts"},
      {"samples", {{"from", result.samples}}},
      {"classifier",
       {{"file", result.classifier.file},
        {"accuracy", result.classifier.accuracy},
        {"accuracy_of", result.classifier.accuracy_of}}}};
  if (!result.seeds.empty()) values["samples"]["seeds"] = result.seeds;
  return values;
}

json file_json(const ModesResult& result) {
  json values = to_json(result);
  values["counts"] = result.count.counts;
  return values;
}

void print(const ModesResult& result) {
  const eval::ModeCount& count = result.count;
  fmt::print("modes       {} of {} covered, n {} (that many uniform draws cover {:.1f} on average)\n",
             count.covered, count.modes, count.n, count.expected_uniform);
  fmt::print("KL          {:.4f} nats, samples to uniform\n", count.divergence);
  const auto& classifier = result.classifier;
  fmt::print("classifier  {}, {}\n", classifier.file,
             classifier.rate ? fmt::format("{:.2f} % right on {}", 100 * *classifier.rate, classifier.rate_of)
                             : "of unknown accuracy");
  fmt::print("samples     {}{}\n", result.samples, result.seeds.empty() ? "" : ", seeds " + result.seeds);
}

}  // namespace mdsm::app

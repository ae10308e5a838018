// mdsm evaluate: FID, Inception score, KID, precision and recall of samples against a data set, or of every
// saved checkpoint of a run.
#include <algorithm>

#include "cli/checkpoint_samples.h"
#include "cli/command.h"
#include "cli/evaluation_options.h"
#include "cli/model_use.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/npy.h"
#include "core/progress.h"
#include "core/threads.h"
#include "data/data_options.h"
#include "eval/evaluation.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

class Evaluate : public Command {
 public:
  const char* name() const override { return "evaluate"; }
  const char* summary() const override {
    return "Measure samples against a data set: FID, Inception score, KID, precision, recall";
  }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  void check_options(const OptionSet& options) const;
  std::unique_ptr<FeatureNetwork> network() const;
  FeatureSet extract(FeatureNetwork& network, const Dataset& data, const char* what) const;
  EvaluationReference reference(FeatureNetwork& network);
  json measure(FeatureNetwork& network, const Dataset& samples, const EvaluationReference& against,
               const std::string& file_prefix) const;
  json measure_samples(FeatureNetwork& network, const EvaluationReference& against) const;
  json measure_checkpoints(FeatureNetwork& network, const EvaluationReference& against, OptionSet& options);
  void save_features(const FeatureSet& set, const std::string& name) const;

  ModelUse use_;
  CheckpointSamples checkpoints_;
  DataOptions data_;
  EvaluationOptions measures_;
  std::string samples_, classifier_, script_, statistics_, save_statistics_, features_out_, out_;
  json reference_from_;
  int64_t feature_resize_ = 0, seed_ = 0;
  bool force_ = false, json_ = false;
};

void Evaluate::declare(OptionSet& options) {
  options.group("Samples");
  options
      .add("samples", samples_, "folder of mdsm sample, samples.npy, a folder of images, or any data source")
      .meta("SOURCE");
  checkpoints_.declare(options);
  declare_data_options(options, data_);
  options.add("statistics", statistics_, "FID against the mu and sigma of this file instead of --data")
      .meta("FILE.npz");
  options.group("Features");
  options
      .add("classifier", classifier_,
           "a file of mdsm classifier, or the bundled fashion-mnist or mnist; empty = the one of --data")
      .meta("CLASSIFIER");
  options.add("features", script_, "TorchScript file, such as inception-2015-12-05.pt (docs/evaluation.md)")
      .meta("FILE.pt");
  options
      .add("feature-resize", feature_resize_,
           "with --features: antialiased resize to a square of so many pixels; 0 = left to the network")
      .range(0, 4096);
  options.group("Measures");
  options.add("splits", measures_.splits, "parts of the Inception score").range(1, 1000);
  options.add("kid-subsets", measures_.kid_subsets, "subsets of KID").range(1, 100000);
  options
      .add("kid-size", measures_.kid_size,
           "images in each; 0 = 1000, or half of the smaller set where that is less")
      .range(0, 100000);
  options.add("neighbours", measures_.neighbours, "k of precision and recall").range(1, 1000);
  options.add("most", measures_.most, "images of each set in precision and recall, the first so many")
      .range(2, 1e6);
  options.add("seed", seed_, "of the subsets of KID, and of data drawn by chance").range(0);
  use_.declare_engine(options);
  options.group("Output");
  options.add("out", out_, "also write the JSON to a file").meta("FILE.json");
  options
      .add("save-statistics", save_statistics_,
           "mu and sigma (float64, n-1) of the reference, for --statistics")
      .meta("FILE.npz");
  options.add("save-features", features_out_, "folder for features and probabilities of both sets as .npy")
      .meta("FOLDER");
  options.add("force", force_, "replace files").command_line_only();
  options.add("json", json_, "print JSON for machines").command_line_only();
  options.example("mdsm evaluate --samples samples --data fashion-mnist");
  options.example("mdsm evaluate --samples samples --data cifar10 --features inception-2015-12-05.pt");
  options.example("mdsm evaluate --checkpoints runs/00000 -n 1000 --sampler fast --data fashion-mnist");
}

void Evaluate::check_options(const OptionSet& options) const {
  if (samples_.empty() == checkpoints_.run().empty())
    fail_usage("name what is to be measured", "give one of --samples and --checkpoints");
  if (checkpoints_.run().empty()) checkpoints_.check_unused(options);
  if (data_.source.empty() == statistics_.empty())
    fail_usage("name what samples are compared with", "give one of --data and --statistics");
  if (!classifier_.empty() && !script_.empty())
    fail_usage("choose one", "--classifier and --features exclude each other");
  if (feature_resize_ > 0 && script_.empty())
    fail_usage("leave it out; data has --resize", "--feature-resize without --features");
  if (!statistics_.empty() && !save_statistics_.empty())
    fail_usage("leave one out", "--save-statistics of what --statistics has read");
  for (const std::string& path : {out_, save_statistics_}) {
    if (path.empty()) continue;
    check_folder_of(path);
    check_output(path, force_);
  }
  if (!features_out_.empty()) check_output(fs::path(features_out_) / "samples-features.npy", force_);
}

std::unique_ptr<FeatureNetwork> Evaluate::network() const {
  if (!script_.empty()) return script_features(script_, {use_.engine.device, feature_resize_, use_.batch});
  return classifier_features(
      classifier_path(classifier_.empty() ? default_classifier(data_.source) : classifier_));
}

FeatureSet Evaluate::extract(FeatureNetwork& network, const Dataset& data, const char* what) const {
  Progress progress(what, data.size(), "images");
  FeatureSet set = network.extract(data, [&](int64_t done) { progress.update(done); });
  Progress::clear_line();
  return set;
}

void Evaluate::save_features(const FeatureSet& set, const std::string& name) const {
  if (features_out_.empty()) return;
  make_folder(features_out_);
  const fs::path folder = features_out_;
  write_npy(folder / (name + "-features.npy"), {set.n, set.dimensions}, set.features);
  if (set.classes > 0)
    write_npy(folder / (name + "-probabilities.npy"), {set.n, set.classes}, set.probabilities);
}

EvaluationReference Evaluate::reference(FeatureNetwork& network) {
  if (!statistics_.empty()) {
    reference_from_ = {{"statistics", statistics_}};
    return {read_statistics(statistics_), std::nullopt};
  }
  const auto data = open_dataset(data_);
  reference_from_ = {{"from", data->description()}, {"n", data->size()}, {"split", data_.split}};
  FeatureSet set = extract(network, *data, "reference");
  FeatureStatistics statistics = statistics_of(set);
  save_features(set, "reference");
  if (!save_statistics_.empty()) write_statistics(save_statistics_, statistics);
  return {std::move(statistics), std::move(set)};
}

json Evaluate::measure(FeatureNetwork& network, const Dataset& samples, const EvaluationReference& against,
                       const std::string& file_prefix) const {
  const FeatureSet set = extract(network, samples, "samples");
  save_features(set, file_prefix);
  return evaluate(set, against, measures_);
}

json Evaluate::measure_samples(FeatureNetwork& network, const EvaluationReference& against) const {
  const SampleSource source = sample_source(samples_);
  DataOptions options;  // samples are taken as they are, but for the padding that data gets as well
  options.source = source.source;
  options.pad = data_.pad;
  options.colour = data_.colour;
  options.seed = data_.seed;
  const auto samples = open_dataset(options);
  json found = measure(network, *samples, against, "samples");
  found["samples"] = {{"from", samples->description()}, {"n", samples->size()}};
  if (!source.seeds.empty()) found["samples"]["seeds"] = source.seeds;
  return found;
}

json Evaluate::measure_checkpoints(FeatureNetwork& network, const EvaluationReference& against, OptionSet& options) {
  json rows = json::array();
  checkpoints_.resolve(options, use_);
  for (const fs::path& path : checkpoints_.files()) {
    const auto samples = checkpoints_.draw(path, use_);
    json row = measure(network, *samples, against, path.stem().string());
    row["checkpoint"] = path.filename().string();
    rows.push_back(std::move(row));
  }
  const auto best =
      std::ranges::min_element(rows, {}, [](const json& row) { return row["fid"]["value"].get<double>(); });
  for (json& row : rows) row["best"] = &row == &*best;
  return {{"checkpoints", rows},
          {"best", (*best)["checkpoint"]},
          {"samples", {{"n", checkpoints_.count()}, {"seeds", checkpoints_.seeds()}}},
          {"sampler", checkpoints_.parameters(options)}};
}

int Evaluate::run(OptionSet& options) {
  check_options(options);
  set_thread_count(static_cast<int>(use_.threads));
  measures_.seed = data_.seed = static_cast<uint64_t>(seed_);
  const auto features = network();
  const EvaluationReference against = reference(*features);
  json found = checkpoints_.run().empty() ? measure_samples(*features, against)
                                          : measure_checkpoints(*features, against, options);
  found["features"] = features->description();
  found["reference"] = reference_from_;
  if (!out_.empty()) write_file(out_, found.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
  if (json_)
    print_json(found);
  else
    print_evaluation(found);
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_evaluate() { return std::make_unique<Evaluate>(); }

}  // namespace mdsm::cli

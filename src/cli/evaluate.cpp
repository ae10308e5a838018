// mdsm evaluate: FID, Inception score, KID, precision and recall of samples against a data set, or of every
// saved checkpoint of a run.
#include <cmath>

#include "cli/checkpoint_samples.h"
#include "cli/command.h"
#include "cli/evaluation_print.h"
#include "app/features.h"
#include "app/model_use.h"
#include "app/output.h"
#include "core/error.h"
#include "core/log.h"
#include "io/npy.h"
#include "core/progress.h"
#include "core/threads.h"
#include "data/data_options.h"
#include "eval/evaluation.h"
#include "eval/sample_source.h"

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
  eval::FeatureSet extract(eval::FeatureNetwork& network, const data::Dataset& data, const char* what) const;
  eval::EvaluationReference reference(eval::FeatureNetwork& network);
  json measure(eval::FeatureNetwork& network, const data::Dataset& samples, const eval::EvaluationReference& against,
               const std::string& file_prefix) const;
  std::vector<std::string> feature_files() const;
  void open_samples();
  json measure_samples(eval::FeatureNetwork& network, const eval::EvaluationReference& against) const;
  json measure_checkpoints(eval::FeatureNetwork& network, const eval::EvaluationReference& against,
                           const OptionSet& options);
  void write(const json& found) const;
  void save_features(const eval::FeatureSet& set, const std::string& name) const;

  app::ModelUse use_;
  CheckpointSamples checkpoints_;
  data::DataOptions data_;
  eval::EvaluationOptions measures_;
  app::FeatureChoice features_;
  eval::SampleSource source_;
  std::unique_ptr<data::Dataset> samples_;  // without --checkpoints
  std::string samples_text_, statistics_, save_statistics_, features_out_, out_;
  json how_;  // features and reference, for the result
  int64_t seed_ = 0;
  bool force_ = false, json_ = false, incomplete_ = false;
};

void Evaluate::declare(OptionSet& options) {
  options.group("Samples");
  options
      .add("samples", samples_text_,
           "folder of mdsm sample, samples.npy, a folder of images, or any data source")
      .meta("SOURCE");
  checkpoints_.declare(options);
  data::declare_data_options(options, data_, {.random_limit = true, .apart = true});
  options.add("statistics", statistics_, "FID against the mu and sigma of this file instead of --data")
      .meta("FILE.npz");
  features_.declare(options, "the one of --data");
  options.group("Measures");
  options.add("splits", measures_.splits, "parts of the Inception score").range(1, 1000);
  options.add("kid-subsets", measures_.kid_subsets, "subsets of KID").range(1, 100000);
  options
      .add("kid-size", measures_.kid_size,
           "images in each; 0 = 1000, or half of the smaller set where that is less")
      .range(0, 100000);
  options.add("neighbours", measures_.neighbours, "k of precision and recall").range(1, 1000);
  options.add("most", measures_.most, "images of each set in precision and recall, drawn by chance")
      .range(2, 1e6);
  options.add("seed", seed_, "of all that is drawn by chance: data, subsets of KID, images of precision")
      .range(0);
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
  if (samples_text_.empty() == checkpoints_.run().empty())
    fail_usage("name what is to be measured", "give one of --samples and --checkpoints");
  if (checkpoints_.run().empty()) checkpoints_.check_unused(options);
  if (data_.source.empty() == statistics_.empty())
    fail_usage("name what samples are compared with", "give one of --data and --statistics");
  for (const char* name : {"split", "limit", "crop", "resize"})
    if (!statistics_.empty() && options.given(name))
      fail_usage("leave it out", "--{} without --data; it is not for the samples", name);
  for (const char* name : {"engine", "exact"})
    if (checkpoints_.run().empty() && options.given(name))
      fail_usage("leave it out", "--{} without --checkpoints, which runs a model", name);
  for (const char* name : {"device", "batch"})
    if (checkpoints_.run().empty() && features_.script.empty() && options.given(name))
      fail_usage("leave it out", "--{} without --checkpoints or --features", name);
  if (!checkpoints_.run().empty() && data_.colour == "apart")
    fail_usage("draw samples with mdsm sample and give them as --samples",
               "--colour apart with --checkpoints");
  features_.check();
  if (!statistics_.empty() && !save_statistics_.empty())
    fail_usage("leave one out", "--save-statistics of what --statistics has read");
  for (const std::string& path : {out_, save_statistics_}) {
    if (path.empty()) continue;
    app::check_folder_of(path);
    app::check_output(path, force_);
  }
}

std::vector<std::string> Evaluate::feature_files() const {
  std::vector<std::string> stems, files;
  if (statistics_.empty()) stems.emplace_back("reference");
  if (samples_) stems.emplace_back("samples");
  for (const fs::path& path : checkpoints_.files()) stems.push_back(path.stem().string());
  for (const std::string& stem : stems)
    for (const char* end : {"-features.npy", "-probabilities.npy"}) files.push_back(stem + end);
  return files;
}

eval::FeatureSet Evaluate::extract(eval::FeatureNetwork& network, const data::Dataset& data, const char* what) const {
  Progress progress(what, data.size(), "images");
  eval::FeatureSet set = network.extract(data, [&](int64_t done) { progress.update(done); });
  Progress::clear_line();
  return set;
}

void Evaluate::save_features(const eval::FeatureSet& set, const std::string& name) const {
  if (features_out_.empty()) return;
  make_folder(features_out_);
  const fs::path folder = features_out_;
  io::write_npy(folder / (name + "-features.npy"), {set.n, set.dimensions}, set.features);
  if (set.classes > 0)
    io::write_npy(folder / (name + "-probabilities.npy"), {set.n, set.classes}, set.probabilities);
}

eval::EvaluationReference Evaluate::reference(eval::FeatureNetwork& network) {
  if (!statistics_.empty()) {
    how_["reference"] = {{"statistics", statistics_}};
    return {eval::read_statistics(statistics_), std::nullopt};
  }
  const auto data = data::open_dataset(data_);
  how_["reference"] = {{"from", data->description()}, {"n", data->size()}, {"split", data->part()}};
  eval::FeatureSet set = extract(network, *data, "reference");
  eval::FeatureStatistics statistics = eval::statistics_of(set);
  save_features(set, "reference");
  if (!save_statistics_.empty()) eval::write_statistics(save_statistics_, statistics);
  return {std::move(statistics), std::move(set)};
}

json Evaluate::measure(eval::FeatureNetwork& network, const data::Dataset& samples, const eval::EvaluationReference& against,
                       const std::string& file_prefix) const {
  const eval::FeatureSet set = extract(network, samples, "samples");
  save_features(set, file_prefix);
  return eval::evaluate(set, against, measures_);
}

void Evaluate::open_samples() {
  source_ = eval::sample_source(samples_text_);
  data::DataOptions options;  // samples are taken as they are, but for the padding that data gets as well
  options.pad = data_.pad;
  options.colour = data_.colour;
  options.seed = data_.seed;
  samples_ = eval::open_samples(source_, options);
}

json Evaluate::measure_samples(eval::FeatureNetwork& network, const eval::EvaluationReference& against) const {
  json found = measure(network, *samples_, against, "samples");
  found["samples"] = {{"from", samples_->description()}, {"n", samples_->size()}};
  if (!source_.seeds.empty()) found["samples"]["seeds"] = source_.seeds;
  return found;
}

// A checkpoint that fails is a row that says so; those before and after it keep their numbers.
json Evaluate::measure_checkpoints(eval::FeatureNetwork& network, const eval::EvaluationReference& against,
                                   const OptionSet& options) {
  json found = {{"checkpoints", json::array()},
                {"best", json()},
                {"samples", {{"n", checkpoints_.count()}, {"seeds", checkpoints_.seeds()}}},
                {"sampler", checkpoints_.parameters(options)}};
  json& rows = found["checkpoints"];
  double lowest = INFINITY;
  for (const fs::path& path : checkpoints_.files()) {
    json row = {{"checkpoint", path.filename().string()}};
    try {
      const auto samples = checkpoints_.draw(path, use_);
      if (!samples) {
        incomplete_ = true;
        break;
      }
      row.update(measure(network, *samples, against, path.stem().string()));
      if (const double fid = row["fid"]["value"].get<double>(); fid < lowest)
        lowest = fid, found["best"] = row["checkpoint"];
    } catch (const Error& error) {
      incomplete_ = true;
      row["failed"] = error.what();
    }
    rows.push_back(std::move(row));
    for (json& each : rows) each["best"] = each["checkpoint"] == found["best"];
    found["complete"] = !incomplete_ && rows.size() == checkpoints_.files().size();
    write(found);
  }
  found["complete"] = !incomplete_;
  return found;
}

void Evaluate::write(const json& found) const {
  if (out_.empty()) return;
  json whole = found;
  whole.update(how_);
  write_file(out_, whole.dump(2, ' ', false, json::error_handler_t::replace) + "\n");
}

int Evaluate::run(OptionSet& options) {
  check_options(options);
  set_thread_count(static_cast<int>(use_.threads));
  measures_.seed = data_.seed = static_cast<uint64_t>(seed_);
  const auto features = features_.make(data_.source, use_.engine.device, use_.batch);
  const bool of_run = !checkpoints_.run().empty();
  if (of_run)
    checkpoints_.resolve(options, use_);
  else
    open_samples();
  if (!features_out_.empty()) app::check_outputs(features_out_, feature_files(), force_);
  const int64_t dimensions = app::probe(*features, of_run ? checkpoints_.image_shape() : samples_->image_shape());
  const eval::EvaluationReference against = reference(*features);
  if (dimensions != against.statistics.dimensions())
    fail("use the same features for both", "features of {} dimensions, but a reference of {}", dimensions,
         against.statistics.dimensions());
  if (of_run && against.set) {
    const json too_few = eval::left_out(checkpoints_.count(), against.set->n, measures_);
    for (const auto& [name, why] : too_few.items())
      log_info("{} is left out: {}", name, why.get<std::string>());
  }
  how_["features"] = features->description();
  json found =
      of_run ? measure_checkpoints(*features, against, options) : measure_samples(*features, against);
  found.update(how_);
  write(found);
  if (json_)
    app::print_json(found);
  else
    print_evaluation(found);
  if (incomplete_)
    fail("see the rows; those that are there are good", "not every checkpoint of {} could be measured",
         checkpoints_.run());
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_evaluate() { return std::make_unique<Evaluate>(); }

}  // namespace mdsm::cli

#include "app/evaluate.h"

#include <cmath>
#include <limits>

#include "app/checkpoint_samples.h"
#include "app/output.h"
#include "app/world.h"
#include "core/error.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/seeds.h"
#include "data/fingerprint.h"
#include "eval/sample_source.h"
#include "eval/shared_features.h"
#include "io/npy.h"

namespace mdsm::app {

Evaluate::Evaluate(const EvaluateOptions& options, const eval::Metrics& metrics,
                   const std::atomic<bool>& stop)
    : options_(options),
      metrics_(metrics),
      stop_(stop),
      network_(options.features.make(options.data.source, options.use.engine.device, options.use.batch)) {
  if (options.checkpoints.empty()) open_samples();
}

network::Model Evaluate::last_checkpoint() {
  checkpoints_ = find_checkpoints(options_.checkpoints);
  network::Model model = network::load_model(checkpoints_.back());
  image_ = padded(Tensor(model.parameters.spec().input(1)), options_.data.pad).shape();
  return model;
}

void Evaluate::open_samples() {
  const eval::SampleSource source = eval::sample_source(options_.samples);
  data::DataOptions options;  // samples are taken as they are, but for the padding that data gets as well
  options.pad = options_.data.pad;
  options.colour = options_.data.colour;
  options.seed = options_.data.seed;
  samples_ = eval::open_samples(source, options);
  image_ = samples_->image_shape();
  result_.samples_from = samples_->description();
  result_.samples_n = samples_->size();
  result_.seeds = source.seeds;
}

std::vector<std::string> Evaluate::feature_files() const {
  std::vector<std::string> stems, files;
  if (options_.statistics.empty()) stems.emplace_back("reference");
  if (samples_) stems.emplace_back("samples");
  for (const fs::path& path : checkpoints_) stems.push_back(path.stem().string());
  for (const std::string& stem : stems)
    for (const char* end : {"-features.npy", "-probabilities.npy"}) files.push_back(stem + end);
  return files;
}

eval::FeatureSet Evaluate::extract(const data::Dataset& data, const char* what,
                                   const std::string& file_prefix) {
  check_ranks(data, what);
  Progress progress(what, data.size(), "images");
  eval::FeatureSet set =
      eval::shared_features(*options_.world, *network_, data, [&](int64_t done) { progress.update(done); });
  Progress::clear_line();
  if (options_.save_features.empty() || file_prefix.empty() || !options_.world->first()) return set;
  const fs::path folder = options_.save_features;
  make_folder(folder);
  io::write_npy(folder / (file_prefix + "-features.npy"), {set.n, set.dimensions}, set.features);
  if (set.classes > 0)
    io::write_npy(folder / (file_prefix + "-probabilities.npy"), {set.n, set.classes}, set.probabilities);
  return set;
}

eval::EvaluationReference Evaluate::reference() {
  if (!options_.statistics.empty()) {
    result_.statistics = options_.statistics;
    return {eval::read_statistics(options_.statistics), std::nullopt};
  }
  const auto data = data::open_dataset(options_.data);
  result_.reference_from = data->description();
  result_.reference_n = data->size();
  if (const auto part = data->part()) result_.reference_part = to_string(*part);
  eval::FeatureSet set = extract(*data, "reference", "reference");
  if (!options_.world->first()) return {};
  eval::FeatureStatistics statistics = eval::statistics_of(set);
  if (!options_.save_statistics.empty()) eval::write_statistics(options_.save_statistics, statistics);
  return {std::move(statistics), std::move(set)};
}

std::unique_ptr<data::Dataset> Evaluate::open_real() const {
  if (!options_.real || result_.reference_part.empty()) return nullptr;
  data::DataOptions options = options_.data;
  options.split =
      result_.reference_part == to_string(data::Split::test) ? data::Split::train : data::Split::test;
  options.limit = checkpoints_.empty() ? result_.samples_n : static_cast<int64_t>(options_.seeds.size());
  options.random_limit = true;
  try {
    auto data = data::open_dataset(options);
    if (data->part() != options.split || data->size() < 2) return nullptr;
    return data;
  } catch (const Error& error) {
    log_info("no real images are measured beside the samples: {}", error.what());
    return nullptr;
  }
}

void Evaluate::measure_real(const eval::EvaluationReference& against) {
  const auto data = open_real();
  if (options_.world->any(!data)) return;  // all ranks or none
  const eval::FeatureSet set = extract(*data, "real images", "");
  if (!options_.world->first()) return;
  result_.real = {eval::frechet_distance(eval::statistics_of(set), against.statistics), data->size(),
                  to_string(*data->part())};
}

// Says before the samples of checkpoints are drawn which measures they are too few for.
void Evaluate::check_sizes(const eval::EvaluationReference& against) const {
  if (checkpoints_.empty() || !against.set) return;
  const eval::EvaluationSizes sizes{static_cast<int64_t>(options_.seeds.size()), against.set->n,
                                    std::nullopt};
  for (const auto& [name, why] : metrics_.obstacles(sizes)) log_info("{} is left out: {}", name, why);
}

void Evaluate::check_ranks(const data::Dataset& data, const char* what) {
  if (options_.world->alone()) return;
  check_same(*options_.world, {{fmt::format("fingerprint of the {}", what), data::fingerprint(data)}});
}

// All processes measure the same files.
void Evaluate::check_checkpoints() const {
  nlohmann::json names;
  for (const fs::path& path : checkpoints_) names.push_back(path.filename().string());
  check_same(*options_.world,
             {{"list of checkpoints", names}, {"list of seeds", seeds_text(options_.seeds)}});
}

EvaluateResult Evaluate::run(const SamplerChoice* sampler) {
  if (!checkpoints_.empty()) check_checkpoints();
  if (!options_.world->first()) {
    if (options_.statistics.empty()) measure_real(reference());
    checkpoints_.empty() ? (void)extract(*samples_, "samples", "") : measure_checkpoints({}, *sampler);
    return {};
  }
  if (!options_.save_features.empty()) check_outputs(options_.save_features, feature_files(), options_.force);
  const int64_t dimensions = probe(*network_, image_);
  const eval::EvaluationReference against = reference();
  if (dimensions != against.statistics.dimensions())
    fail("use the same features for both", "features of {} dimensions, but a reference of {}", dimensions,
         against.statistics.dimensions());
  check_sizes(against);
  measure_real(against);
  result_.features = network_->description();
  checkpoints_.empty() ? measure_samples(against) : measure_checkpoints(against, *sampler);
  write();
  return std::move(result_);
}

void Evaluate::measure_samples(const eval::EvaluationReference& against) {
  result_.found = metrics_.evaluate(extract(*samples_, "samples", "samples"), against,
                                    static_cast<uint64_t>(options_.seed));
}

// Rank 0 has the measures. What goes wrong between processes is no matter of the checkpoint.
void Evaluate::measure_checkpoint(const data::Dataset& samples, const eval::EvaluationReference& against,
                                  const std::string& stem, CheckpointRow& row) {
  bool shared = !options_.world->alone();
  try {
    const eval::FeatureSet features = extract(samples, "samples", stem);
    shared = false;
    if (options_.world->first())
      row.found = metrics_.evaluate(features, against, static_cast<uint64_t>(options_.seed));
  } catch (const Error& error) {
    if (shared) throw;
    row.failed = error.what();
  }
}

// A checkpoint that fails is a row that says so; those before and after it keep their numbers. Ranks other
// than 0 only help.
void Evaluate::measure_checkpoints(const eval::EvaluationReference& against, const SamplerChoice& sampler) {
  result_.samples_n = static_cast<int64_t>(options_.seeds.size());
  result_.seeds = seeds_text(options_.seeds);
  result_.sampler = sampler.parameters();
  nlohmann::json same = sampler.parameters();
  for (const char* path : {"guide", "class-by"}) same.erase(path);  // of its own host; the hashes count
  check_same(*options_.world, {{"sampler", same}});
  double lowest = std::numeric_limits<double>::infinity();
  bool failed = false;
  for (const fs::path& path : checkpoints_) {
    CheckpointSamples drawn = draw_checkpoint(path, options_.use, sampler, options_.seeds, options_.data.pad,
                                              stop_, *options_.world);
    CheckpointRow row{path.filename().string(), {}, std::move(drawn.failed), false};
    const bool stopped = !drawn.images && row.failed.empty();
    if (drawn.images) measure_checkpoint(*drawn.images, against, path.stem().string(), row);
    failed = failed || stopped || !row.failed.empty();
    if (stopped) break;
    if (!options_.world->first()) continue;
    if (const auto rank = row.found.rank(); row.failed.empty() && rank && *rank < lowest)
      lowest = *rank, result_.best = row.checkpoint;
    result_.rows.push_back(std::move(row));
    for (CheckpointRow& each : result_.rows) each.best = each.checkpoint == result_.best;
    result_.complete = !failed && result_.rows.size() == checkpoints_.size();
    write();
  }
  result_.complete = !failed;
}

void Evaluate::write() const {
  if (!options_.out.empty()) write_json(options_.out, to_json(result_), 2);
}

}  // namespace mdsm::app

// What `mdsm evaluate` does: measures samples against a data set or its statistics, either one set of samples
// or those of every saved checkpoint of a run.
#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/features.h"
#include "app/model_use.h"
#include "app/sampler_choice.h"
#include "data/dataset.h"
#include "distributed/communicator.h"
#include "eval/metric.h"

namespace mdsm::app {

struct EvaluateOptions {
  ModelUse use;
  std::string samples;          // a source of samples, or
  std::string checkpoints;      // a run folder, whose checkpoints are sampled
  std::vector<uint64_t> seeds;  // of those samples
  data::DataOptions data;       // the reference, or
  std::string statistics;       // its mu and sigma from a file
  FeatureChoice features;
  bool real = true;  // also the FID of real images, where the data has another part
  int64_t seed = 0;
  std::string out;  // the JSON; empty: nowhere
  std::string save_statistics, save_features;
  bool force = false;
  distributed::Communicator* world =
      &distributed::alone();  // compute features together; rank 0 has the result
};

struct CheckpointRow {
  std::string checkpoint;
  eval::Evaluation found;
  std::string failed;  // why; empty where it did not
  bool best = false;
};

// Real images against the same reference, as many as there are samples: what a perfect model would have.
struct RealImages {
  double fid = 0;
  int64_t n = 0;
  std::string part;
};

struct EvaluateResult {
  // Of samples:
  std::optional<eval::Evaluation> found;
  std::string samples_from, seeds;
  int64_t samples_n = 0;
  // Of checkpoints:
  std::vector<CheckpointRow> rows;
  nlohmann::json sampler;  // its parameters
  std::string best;
  bool complete = true;

  // Of both: where the features are from and what the samples are compared with.
  eval::FeatureDescription features;
  std::string reference_from, reference_part, statistics;
  int64_t reference_n = 0;
  std::optional<RealImages> real;
};

// metrics: with their options set; sampler: for --checkpoints, resolved when the job has found the last of
// them. A result that is not complete says so; its rows are good.
class Evaluate {
 public:
  Evaluate(const EvaluateOptions& options, const eval::Metrics& metrics, const std::atomic<bool>& stop);
  // For checkpoints: finds them and returns the last one's model, to resolve the sampler with.
  network::Model last_checkpoint();
  EvaluateResult run(const SamplerChoice* sampler);  // empty on ranks other than 0

 private:
  void open_samples();
  void check_ranks(const data::Dataset& data, const char* what);
  void check_checkpoints() const;
  std::vector<std::string> feature_files() const;
  eval::FeatureSet extract(const data::Dataset& data, const char* what, const std::string& file_prefix);
  eval::EvaluationReference reference();
  // Those of the part of the data that is not the reference, if there is one.
  std::unique_ptr<data::Dataset> open_real() const;
  void measure_real(const eval::EvaluationReference& against);
  void check_sizes(const eval::EvaluationReference& against) const;
  void measure_samples(const eval::EvaluationReference& against);
  void measure_checkpoint(const data::Dataset& samples, const eval::EvaluationReference& against,
                          const std::string& stem, CheckpointRow& row);
  void measure_checkpoints(const eval::EvaluationReference& against, const SamplerChoice& sampler);
  void write() const;

  const EvaluateOptions& options_;
  const eval::Metrics& metrics_;
  const std::atomic<bool>& stop_;
  std::vector<fs::path> checkpoints_;
  Shape image_;  // of the samples
  std::unique_ptr<data::Dataset> samples_;
  std::unique_ptr<eval::FeatureNetwork> network_;
  EvaluateResult result_;
};

nlohmann::json to_json(const EvaluateResult& result);
void print(const EvaluateResult& result, const eval::Metrics& metrics);

}  // namespace mdsm::app

// What `mdsm sample` does: draws images from a model in batches, each kept as soon as it is finished, and
// writes the folder of samples with its pictures.
#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/model_use.h"
#include "app/sampler_choice.h"
#include "distributed/communicator.h"
#include "report/energy_fit.h"
#include "report/sample_store.h"
#include "sample/diagnostics.h"

namespace mdsm::app {

struct SampleOptions {
  ModelUse use;
  std::vector<uint64_t> seeds;
  std::string size;  // "WIDTHxHEIGHT"; empty: the model's own
  std::string out = "samples";
  int64_t columns = 0;  // of the grid; 0 = as many as rows
  int64_t scale = 2;    // size of a pixel in the pictures
  bool each = false, trajectory = false, live = false, resume = false, force = false;
  distributed::Communicator* world = &distributed::alone();  // share the seeds; rank 0 has the folder
};

// What the samples of a folder have in common, as samples.json has it.
struct SampleSummary {
  int64_t n = 0;
  std::string seeds, sampler;
  std::vector<std::string> classes;  // that they show; none: anything
  int64_t steps = 0, evaluations = 0;
  double energy = 0, noise_level = 0;              // means
  std::optional<double> acceptance, step_size;     // mala, hmc
  std::optional<report::EnergyFit> cooling;        // annealed
  double half_pixels = 0;                          // the slope that it should have
  std::optional<sample::ChainDiagnostics> chains;  // at one temperature
  double evaluations_per_sample() const { return static_cast<double>(evaluations) / static_cast<double>(n); }
};
nlohmann::json to_json(const SampleSummary& summary);

struct SampleResult {
  SampleSummary summary;
  std::string out;
  int64_t drawn = 0;  // by this call
  double seconds = 0;
};

// sampler: resolved for the model. Throws where a stop ended it; what was drawn is kept. On ranks other than
// 0 the result is empty.
SampleResult run_sample(const SampleOptions& options, const network::Model& model,
                        const SamplerChoice& sampler, const std::atomic<bool>& stop);
nlohmann::json to_json(const SampleResult& result);
void print(const SampleResult& result);

// Seeds of "-n N" and "--seeds LIST" (empty: not given); n is given where the caller named it.
std::vector<uint64_t> chosen_seeds(int64_t n, bool n_given, const std::string& seeds);

}  // namespace mdsm::app

// Samples on the disk while they are being drawn: the folder of `mdsm sample`, locked as long as a store has
// it. Every finished batch is one part, a file written whole or not at all; a killed process loses the batch
// it was at. At the end the parts become one set under the name "samples". Plain data: what made the samples
// is the caller's business, kept here only as JSON to be compared.
#pragma once

#include <nlohmann/json.hpp>
#include <span>
#include <string>
#include <unordered_set>
#include <vector>

#include "core/folder_lock.h"
#include "core/tensor.h"

namespace mdsm::report {

// All vectors have one entry a sample, in the order of seeds; those that do not apply are empty.
struct SampleSet {
  std::vector<uint64_t> seeds;
  Tensor x;  // (N,C,H,W)
  std::vector<float> energy, sigma, acceptance, step_size;
  std::vector<int64_t> evaluations;
  std::vector<float> energy_trace, sigma_trace;  // (N x points); NaN where a sample had finished
  std::vector<float> draws;                      // (N x draws): energies after burn-in
  int64_t points = 0, draw_count = 0;            // columns of the three above
  std::vector<int64_t> trace_steps;              // (points) and the temperature of each
  std::vector<double> trace_temperature;
};

// On the way from one process to another.
std::string to_bytes(const SampleSet& set);
SampleSet sample_set(const std::string& bytes);

// The samples of the given seeds, in their order, from wherever they lie in `sets`. Throws when one is
// missing.
SampleSet selected(std::span<const SampleSet> sets, std::span<const uint64_t> seeds);

class SampleStore {
 public:
  // Refuses a folder that holds samples already, unless one of these says what to do with them: `resume` goes
  // on with them when the parameters are equal, `force` replaces them in the end. But for the lock nothing is
  // written or removed before begin().
  SampleStore(fs::path folder, nlohmann::json parameters, bool resume, bool force);
  ~SampleStore();
  SampleStore(const SampleStore&) = delete;
  SampleStore& operator=(const SampleStore&) = delete;

  // Those of the seeds that neither an earlier call nor this one has drawn.
  std::vector<uint64_t> missing(std::span<const uint64_t> seeds) const;

  void begin();             // makes the folder and notes the parameters
  void add(SampleSet set);  // a finished batch
  // Everything drawn: in the order of `seeds`, or sorted when earlier calls have drawn others as well.
  SampleSet all(std::span<const uint64_t> seeds) const;
  // Writes samples.npy, samples.json and the other arrays, then removes the parts.
  void finish(const SampleSet& all, const nlohmann::json& summary);

  const fs::path& folder() const { return folder_; }

 private:
  enum class Made { nothing, parts, folder };  // by begin()
  fs::path parts() const { return folder_ / "parts"; }
  fs::path part(size_t number) const;
  void lock();
  bool holds_samples() const;
  std::vector<fs::path> part_files() const;
  void read_existing();
  void read_parts();
  nlohmann::json parameters_in(const fs::path& path) const;
  void check_parameters(const nlohmann::json& found, const fs::path& where) const;
  void keep(SampleSet set);
  void save_whole_as_parts();

  fs::path folder_;
  nlohmann::json parameters_;
  FolderLock lock_;
  std::vector<SampleSet> sets_;
  std::unordered_set<uint64_t> done_;
  bool whole_read_ = false, parts_read_ = false;  // what sets_ is from
  Made made_ = Made::nothing;
  size_t next_part_ = 0;
};

}  // namespace mdsm::report

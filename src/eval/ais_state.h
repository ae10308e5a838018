// What a run of annealed importance sampling has come to: kept in a file from which it goes on, and sent
// between the processes that share its chains.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

#include "core/files.h"
#include "distributed/communicator.h"
#include "eval/ais.h"

namespace mdsm::eval {

// What the chains of one direction gave; all but the last two lists have an entry for every chain.
struct AisChains {
  std::vector<double> log_weight, start_energy;
  std::vector<int64_t> accepted;
  std::vector<double> difference, acceptance;  // (K) sums over the chains, for plots

  int64_t count() const { return static_cast<int64_t>(log_weight.size()); }
  void take(const AisBatch& finished);  // its lists
};

struct AisState {
  std::vector<double> eps;  // (K)
  AisChains forward, reverse;
};

// batch: at work; none when it has no seeds. parameters: all that the result depends on.
void write_ais_state(const fs::path& path, const nlohmann::json& parameters, const AisState& state,
                     const AisBatch& batch);

// The same from the bytes of such a file; path: for messages. Throws when they are damaged or of other
// parameters.
struct SavedAis {
  AisState state;
  AisBatch batch;
};
SavedAis read_ais_state(const fs::path& path, std::string_view bytes, const nlohmann::json& parameters,
                        const Shape& image, int64_t distributions);

// Some chains of a batch, for one process; the batch of all chains from the parts of all processes.
AisBatch part_of(const AisBatch& whole, distributed::Part part);
AisBatch joined(const std::vector<AisBatch>& parts);
// As bytes, without its images where those are not needed. from: who has sent them, for messages.
std::string ais_bytes(const AisBatch& batch, bool with_images);
AisBatch ais_batch(std::string_view bytes, const std::string& from, const Shape& image);

}  // namespace mdsm::eval

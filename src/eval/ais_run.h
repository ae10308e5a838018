// A whole run of annealed importance sampling: pilot chains, then the chains of both directions batch by
// batch, with a checkpoint from which a killed run goes on bit for bit. Knows no files but that one. Several
// processes share the chains of a batch and stay together from transition to transition.
#pragma once

#include <atomic>
#include <nlohmann/json.hpp>
#include <string>

#include "core/files.h"
#include "distributed/communicator.h"
#include "eval/ais_state.h"

namespace mdsm::eval {

enum class Directions { both, forward, reverse };
constexpr auto enum_names(Directions) {
  return names_of<Directions>(
      {{Directions::both, "both"}, {Directions::forward, "forward"}, {Directions::reverse, "reverse"}});
}

struct AisPlan {
  std::vector<double> betas;
  AisOptions options;
  Directions directions = Directions::both;
  int64_t chains = 16;  // in each direction
  int64_t pilots = 4;   // chains in each direction that learn the leapfrog steps; 0 keeps options.eps
  int64_t batch = 64;   // chains computed at a time by each process; makes no difference to the result
  uint64_t seed = 0;

  int64_t distributions() const { return static_cast<int64_t>(betas.size()) - 1; }
  bool goes(Direction direction) const {
    return directions == Directions::both ||
           (directions == Directions::forward) == (direction == Direction::forward);
  }
  // Transitions times chains, of pilots and chains.
  int64_t work() const {
    return (goes(Direction::forward) + goes(Direction::reverse)) * (chains + pilots) * distributions();
  }
};

class AisRun {
 public:
  // Start of reverse chains [first, first + count); the pilots' come after those of the chains.
  using Starts = std::function<Tensor(int64_t first, int64_t count)>;

  // parameters: all that the result depends on; a checkpoint of others is refused. state may be empty: none.
  // world: who shares the chains; the checkpoint is rank 0's, the results are everybody's.
  AisRun(Bridge& bridge, AisPlan plan, Starts starts, nlohmann::json parameters, fs::path state,
         distributed::Communicator& world = distributed::alone());

  void resume();  // reads the checkpoint; throws when it is missing, damaged or of other parameters

  struct Report {
    const char* phase = "";       // "pilot", "forward", "reverse"
    int64_t done = 0, total = 0;  // transitions times chains, of pilots and chains
    double beta = 0, acceptance = 0;
  };
  using Observer = std::function<void(const Report&)>;
  // False when `stop` ended it, on any rank; the checkpoint is then up to date (there is none before the
  // pilots are done). Saves when the pilots are done, and every `seconds`.
  bool run(const std::atomic<bool>& stop, double seconds, const Observer& observer);

  const std::vector<double>& eps() const { return state_.eps; }  // (K)
  const AisChains& chains(Direction direction) const {
    return direction == Direction::forward ? state_.forward : state_.reverse;
  }
  uint64_t chain_seed(Direction direction, int64_t chain) const;

 private:
  // What the ranks tell each other after a transition: of each chain at work, in order; and what they want.
  struct Step {
    std::vector<double> acceptance, difference;
    bool stop = false, save = false;
  };
  Step gathered(const AisStep& own, bool stop, bool save);
  bool run_direction(Direction direction, const std::atomic<bool>& stop, double seconds,
                     const Observer& observer);
  AisBatch some_chains(Direction direction, int64_t first, int64_t count, uint64_t role) const;
  std::vector<double> pilots_of(Direction direction, const std::function<bool(int64_t)>& done);
  bool pilot(const std::atomic<bool>& stop, const Observer& observer);
  void begin_batch(Direction direction);
  void take_batch(AisChains& chains);
  std::vector<AisBatch> received(const std::vector<std::string>& bytes, bool with_images) const;
  int64_t work_done() const;
  void save();

  Bridge& bridge_;
  AisPlan plan_;
  Starts starts_;
  nlohmann::json parameters_;
  fs::path file_;
  distributed::Communicator& world_;
  AisState state_;
  int64_t at_work_ = 0;  // chains of all ranks
  AisBatch batch_;       // this rank's of them
};

}  // namespace mdsm::eval

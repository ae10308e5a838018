// Annealed importance sampling (Neal), forwards from a reference and backwards from samples (Burda, Grosse &
// Salakhutdinov), with HMC transitions along E_beta = (1 - beta) E_ref + beta E.
//
//   forward   x_0 ~ reference; for k = 1..K: log w += log f_k(x) - log f_{k-1}(x), then a transition
//             at beta_k
//   reverse   x_K ~ the model; for k = K..1: a transition at beta_k, then the same term
//
// along the path of eval/betas.h, with log f_k = -E_{beta_k}. The reference is normalised, so E[w] = Z
// forwards and E[1/w] = 1/Z backwards; by Jensen's inequality the mean of log w lies below log Z forwards and
// above it backwards. All chains use the same leapfrog steps, learnt beforehand by pilot chains: a step that
// depended on a chain's own past would make both statements approximate. Pilots go in both directions and the
// smaller step is taken: chains lag behind the path, and a lag from above lets steps pass that are too large
// for chains from below.
#pragma once

#include <functional>
#include <vector>

#include "core/enum_names.h"
#include "eval/bridge.h"

namespace mdsm::eval {

struct AisOptions {
  int64_t leapfrog = 10;  // leapfrog steps a transition
  double eps = 0.05;      // first leapfrog step of the pilot chains
  double target = 0.65;   // acceptance they aim at
};

enum class Direction { forward, reverse };
constexpr auto enum_names(Direction) {
  return names_of<Direction>({{Direction::forward, "forward"}, {Direction::reverse, "reverse"}});
}

// Chains part way; all that going on with them needs.
struct AisBatch {
  Direction direction = Direction::forward;
  std::vector<uint64_t> seeds;       // one chain each
  int64_t done = 0;                  // transitions made
  Tensor x;                          // (N,C,H,W)
  std::vector<double> log_weight;    // (N)
  std::vector<int64_t> accepted;     // (N)
  std::vector<double> start_energy;  // (N) of the model where the chain began
};

// Chains at the reference, or at the images given.
AisBatch forward_batch(const Bridge& bridge, std::vector<uint64_t> seeds);
AisBatch reverse_batch(Tensor start, std::vector<uint64_t> seeds);

// Told after every transition: the number of the distribution (1..K), and of each chain the acceptance and
// E - E_ref before (forward) or after (reverse) the transition. Returns false to stop there.
struct AisStep {
  int64_t distribution = 0;
  double beta = 0;
  std::span<const double> acceptance, difference;  // (N)
};
using AisObserver = std::function<bool(const AisBatch&, const AisStep&)>;

// Carries the batch to its end, or until the observer stops it. eps: (K) leapfrog steps. A batch without
// chains only counts: another process has them.
void anneal(Bridge& bridge, std::span<const double> betas, std::span<const double> eps,
            const AisOptions& options, AisBatch& batch, const AisObserver& observer);

// The chains of the batch, which are used up, go all the way, each adapting its own leapfrog step. Returns
// the logarithms of the steps, (N,K). `done` is told the transitions made and may stop the work by returning
// false.
std::vector<double> pilot_steps(Bridge& bridge, std::span<const double> betas, const AisOptions& options,
                                AisBatch batch, const std::function<bool(int64_t)>& done = {});
// Leapfrog step for each of the K distributions: the mean over the pilot chains (of logarithms, smoothed
// along the path). tried: (N,K).
std::vector<double> learnt_steps(std::span<const double> tried, size_t distributions);

}  // namespace mdsm::eval

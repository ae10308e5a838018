#include "eval/ais.h"

#include <algorithm>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "core/threads.h"
#include "sample/adapt.h"
#include "sample/transition.h"

namespace mdsm::eval {
namespace {

constexpr double kSmoothing = 0.02;  // of the path: the window over which pilot steps are averaged
constexpr int64_t kWarmUp = 30;      // transitions of pilot chains before they set out

// The chains of a batch with energy and gradient of the model at each, so that a change of beta costs no
// evaluation.
class PathChains {
 public:
  PathChains(Bridge& bridge, AisBatch& batch)
      : bridge_(bridge),
        batch_(batch),
        transition_(bridge, batch.x.shape()),
        grad_x_(batch.x.shape()),
        target_gradient_(batch.x.shape()),
        energy_(batch.seeds.size()),
        difference_(batch.seeds.size()) {
    bridge.evaluate_target(batch.x);
    target_energy_.assign(bridge.target_energy().begin(), bridge.target_energy().end());
    std::ranges::copy(bridge.target_gradient().values(), target_gradient_.data());
    for (size_t i = 0; i < target_energy_.size(); ++i)
      if (!std::isfinite(target_energy_[i]))
        fail("check the model and the start of the chains", "the energy of chain {} is {}", i,
             target_energy_[i]);
  }

  std::span<const float> target_energy() const { return target_energy_; }
  std::span<const double> acceptance() const { return transition_.acceptance(); }

  void transition(double beta, std::span<const double> eps, int64_t number, int64_t leapfrogs) {
    bridge_.set_beta(beta);
    parallel_for(batch_.x.shape().n, 2, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i)
        energy_[static_cast<size_t>(i)] =
            bridge_.mix(batch_.x.view().image(i), target_energy_[static_cast<size_t>(i)],
                        target_gradient_.view().image(i), grad_x_.view().image(i));
    });
    transition_.run({batch_.x, grad_x_, energy_, batch_.seeds}, number, 1, eps, leapfrogs);
    for (size_t i = 0; i < batch_.seeds.size(); ++i) {
      if (!transition_.accepted()[i]) continue;
      const auto row = static_cast<int64_t>(i);
      ++batch_.accepted[i];
      target_energy_[i] = bridge_.target_energy()[i];
      std::ranges::copy(bridge_.target_gradient().image(row), target_gradient_.view().image(row).data());
    }
  }

  // log w -= (beta step)(E - E_ref).
  void weigh(double step) {
    for (size_t i = 0; i < batch_.seeds.size(); ++i) {
      const auto x = batch_.x.view().image(static_cast<int64_t>(i));
      difference_[i] = target_energy_[i] - bridge_.reference().energy(x);
      batch_.log_weight[i] -= step * difference_[i];
    }
  }
  std::span<const double> difference() const { return difference_; }  // E - E_ref when last weighed

 private:
  Bridge& bridge_;
  AisBatch& batch_;
  sample::HmcTransition transition_;
  Tensor grad_x_, target_gradient_;
  std::vector<float> energy_, target_energy_;
  std::vector<double> difference_;
};

void check_betas(std::span<const double> betas) {
  if (betas.size() < 2 || betas.front() != 0 || betas.back() != 1)
    fail("this is a bug in the caller", "a path of {} distributions that does not go from 0 to 1",
         betas.size());
}

AisBatch empty_batch(Direction direction, Tensor x, std::vector<uint64_t> seeds) {
  AisBatch batch{direction, std::move(seeds), 0, std::move(x), {}, {}, {}};
  const size_t n = batch.seeds.size();
  if (static_cast<int64_t>(n) != batch.x.shape().n)
    fail("this is a bug in the caller", "{} chains, but {} starts", n, batch.x.shape().n);
  batch.log_weight.resize(n);
  batch.accepted.resize(n);
  return batch;
}

// Moving average over a window of a share of the path.
std::vector<double> smoothed(const std::vector<double>& values) {
  const auto n = static_cast<int64_t>(values.size());
  const auto half = static_cast<int64_t>(std::ceil(kSmoothing * static_cast<double>(n) / 2));
  std::vector<double> out(values.size());
  for (int64_t i = 0; i < n; ++i) {
    const int64_t first = std::max<int64_t>(0, i - half), last = std::min(n - 1, i + half);
    for (int64_t j = first; j <= last; ++j) out[static_cast<size_t>(i)] += values[static_cast<size_t>(j)];
    out[static_cast<size_t>(i)] /= static_cast<double>(last - first + 1);
  }
  return out;
}

}  // namespace

AisBatch forward_batch(const Bridge& bridge, std::vector<uint64_t> seeds) {
  Tensor x(bridge.images(static_cast<int64_t>(seeds.size())));
  for (int64_t i = 0; i < x.shape().n; ++i)
    bridge.reference().sample(seeds[static_cast<size_t>(i)], x.view().image(i));
  return empty_batch(Direction::forward, std::move(x), std::move(seeds));
}

AisBatch reverse_batch(Tensor start, std::vector<uint64_t> seeds) {
  return empty_batch(Direction::reverse, std::move(start), std::move(seeds));
}

void anneal(Bridge& bridge, std::span<const double> betas, std::span<const double> eps,
            const AisOptions& options, AisBatch& batch, const AisObserver& observer) {
  check_betas(betas);
  const auto total = static_cast<int64_t>(betas.size()) - 1;
  const bool forward = batch.direction == Direction::forward;
  if (batch.done >= total) return;
  std::optional<PathChains> chains;
  if (!batch.seeds.empty()) chains.emplace(bridge, batch);
  if (batch.done == 0 && chains)
    batch.start_energy.assign(chains->target_energy().begin(), chains->target_energy().end());
  std::vector<double> steps(batch.seeds.size());
  while (batch.done < total) {
    const int64_t k = forward ? batch.done + 1 : total - batch.done;
    const auto at = static_cast<size_t>(k);
    std::ranges::fill(steps, eps[at - 1]);
    AisStep step{k, betas[at], {}, {}};
    if (chains) {
      if (forward) chains->weigh(betas[at] - betas[at - 1]);
      chains->transition(betas[at], steps, k, options.leapfrog);
      if (!forward) chains->weigh(betas[at] - betas[at - 1]);
      step.acceptance = chains->acceptance(), step.difference = chains->difference();
    }
    ++batch.done;
    if (observer && !observer(batch, step)) return;
  }
}

std::vector<double> pilot_steps(Bridge& bridge, std::span<const double> betas, const AisOptions& options,
                                AisBatch batch, const std::function<bool(int64_t)>& done) {
  check_betas(betas);
  const auto total = static_cast<int64_t>(betas.size()) - 1;
  std::optional<PathChains> chains;
  if (!batch.seeds.empty()) chains.emplace(bridge, batch);
  const size_t n = batch.seeds.size();
  std::vector<sample::StepSize> sizes(n, sample::StepSize(options.eps, options.target));
  std::vector<double> steps(n), tried(n * static_cast<size_t>(total));
  const auto visit = [&](int64_t k, int64_t number, auto adapt) {
    if (!chains) return;
    for (size_t i = 0; i < n; ++i) steps[i] = sizes[i].value();
    chains->transition(betas[static_cast<size_t>(k)], steps, number, options.leapfrog);
    for (size_t i = 0; i < n; ++i) (sizes[i].*adapt)(chains->acceptance()[i]);
  };
  const bool forward = batch.direction == Direction::forward;
  // The first guess may be far off: some transitions where the way begins.
  for (int64_t i = 0; i < kWarmUp; ++i) visit(forward ? 1 : total, total + 1 + i, &sample::StepSize::learn);
  for (int64_t i = 0; i < total; ++i) {
    const int64_t k = forward ? i + 1 : total - i;
    visit(k, k, &sample::StepSize::follow);
    for (size_t chain = 0; chain < n; ++chain)
      tried[chain * static_cast<size_t>(total) + static_cast<size_t>(k) - 1] = std::log(sizes[chain].value());
    if (done && !done(i + 1)) break;
  }
  return tried;
}

std::vector<double> learnt_steps(std::span<const double> tried, size_t distributions) {
  const size_t chains = tried.size() / distributions;
  std::vector<double> means(distributions);
  for (size_t i = 0; i < tried.size(); ++i)
    means[i % distributions] += tried[i] / static_cast<double>(chains);
  std::vector<double> eps = smoothed(means);
  for (double& value : eps) value = std::exp(value);
  return eps;
}

}  // namespace mdsm::eval

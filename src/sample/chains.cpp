#include "sample/chains.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/error.h"
#include "core/threads.h"
#include "sample/update.h"

namespace mdsm::sample {

Chains::Chains(const Run& run, double start_sigma, std::string hint) : run_(run), hint_(std::move(hint)) {
  const int64_t n = static_cast<int64_t>(run.seeds.size());
  const Shape shape = run.model.images(n);
  if (n == 0) fail_usage("give at least one seed", "no seeds: there is nothing to sample");
  if (run.start && run.start->shape != shape)
    fail_usage("fit the start to the model", "the start has shape {} instead of {}", run.start->shape.text(),
               shape.text());
  x_memory_ =
      run.start ? Tensor(shape) : start_images(run.model.image_shape(), run.seeds, start_sigma, run.place);
  if (run.start) std::ranges::copy(run.start->values(), x_memory_.data());
  grad_memory_ = Tensor(shape);
  x_ = x_memory_.view(), grad_x_ = grad_memory_.view();
  energy_.resize(static_cast<size_t>(n));
  index_.resize(static_cast<size_t>(n));
  std::iota(index_.begin(), index_.end(), 0);
  result_.x = Tensor(shape);
  result_.energy.assign(static_cast<size_t>(n), 0);
  result_.sigma.assign(static_cast<size_t>(n), 0);
  result_.evaluations.assign(static_cast<size_t>(n), 0);
  for (int64_t row = 0; row < n; ++row)
    if (!within_range(x_.image(row))) fail_diverged(row, 0);
}

bool Chains::stop_asked() {
  if (run_.stop && run_.stop->load(std::memory_order_relaxed)) result_.stopped = true;
  return result_.stopped;
}

void Chains::evaluate(int64_t step) {
  run_.model.energy_and_gradient(x_, energy(), grad_x_);
  for (int64_t row = 0; row < rows(); ++row) {
    count_evaluations(row, 1);
    if (!std::isfinite(energy_[static_cast<size_t>(row)])) fail_diverged(row, step);
  }
}

void Chains::report(int64_t step, int64_t steps, double temperature, double sigma) {
  const auto energies = energy();
  const double sum = std::accumulate(energies.begin(), energies.end(), 0.0);
  result_.trace.push_back({step, temperature, sigma, sum / static_cast<double>(rows()), rows()});
  result_.steps = step;
  if (run_.observer) run_.observer({step, steps, temperature, sigma, energies, x_, grad_x_, index_});
}

void Chains::record_draws() {
  const auto energies = energy();
  result_.energy_draws.insert(result_.energy_draws.end(), energies.begin(), energies.end());
}

void Chains::for_rows(int64_t step, const std::function<bool(int64_t)>& body) {
  std::vector<uint8_t> bad(static_cast<size_t>(rows()));
  parallel_for(rows(), rows_per_thread(x_.shape.per_image()), [&](int64_t begin, int64_t end) {
    for (int64_t row = begin; row < end; ++row) bad[static_cast<size_t>(row)] = !body(row);
  });
  const auto found = std::ranges::find(bad, uint8_t{1});
  if (found != bad.end()) fail_diverged(found - bad.begin(), step);
}

void Chains::fail_diverged(int64_t row, int64_t step) const {
  fail(hint_, "the sample of seed {} diverged at step {}", seed(row), step);
}

void Chains::keep(int64_t row) {
  const auto at = static_cast<size_t>(index(row));
  std::ranges::copy(x_.image(row), result_.x.view().image(index(row)).data());
  result_.energy[at] = energy_[static_cast<size_t>(row)];
  result_.sigma[at] = noise_level(sigma0(), grad_x_.image(row));
}

void Chains::drop(const std::vector<uint8_t>& finished) {
  int64_t kept = 0;
  for (int64_t row = 0; row < rows(); ++row) {
    if (finished[static_cast<size_t>(row)]) continue;
    if (kept < row) {
      std::ranges::copy(x_.image(row), x_.image(kept).data());
      std::ranges::copy(grad_x_.image(row), grad_x_.image(kept).data());
      energy_[static_cast<size_t>(kept)] = energy_[static_cast<size_t>(row)];
      index_[static_cast<size_t>(kept)] = index(row);
    }
    ++kept;
  }
  x_ = x_.images(0, kept), grad_x_ = grad_x_.images(0, kept);
  index_.resize(static_cast<size_t>(kept));
}

Samples Chains::finish(bool jump, int64_t step) {
  const float share = static_cast<float>(sigma0() * sigma0());
  for (int64_t row = 0; row < rows(); ++row) {
    keep(row);
    if (!jump || result_.stopped) continue;
    const auto out = result_.x.view().image(index(row));
    if (!drift(out, grad_x_.image(row), -share)) fail_diverged(row, step);
  }
  return std::move(result_);
}

}  // namespace mdsm::sample

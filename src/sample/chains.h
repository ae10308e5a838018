// The state that all samplers keep while they run: x, its energy and gradient, which samples are still in the
// batch, and the record for the result. Internal to this folder.
#pragma once

#include <string>

#include "sample/sampler.h"

namespace mdsm::sample {

class Chains {
 public:
  // Takes the run's start, or 0.5 + start_sigma n. hint: what to do when a sample diverges.
  Chains(const Run& run, double start_sigma, std::string hint);

  int64_t rows() const { return x_.shape.n; }
  int64_t index(int64_t row) const { return index_[static_cast<size_t>(row)]; }
  uint64_t seed(int64_t row) const { return run_.seeds[static_cast<size_t>(index(row))]; }
  // Of the row's sample.
  Noise noise(int64_t row, Draw draw, int64_t step) const {
    return {sample_stream(seed(row), draw, static_cast<uint64_t>(step)), run_.place, x_.shape};
  }
  double sigma0() const { return run_.model.sigma0(); }
  TensorView x() { return x_; }
  TensorView grad_x() { return grad_x_; }
  std::span<float> energy() { return {energy_.data(), static_cast<size_t>(rows())}; }
  Samples& result() { return result_; }

  bool stop_asked();  // marks the result as stopped when true
  // Energy and gradient at x; one more evaluation for every row. `step` is for messages.
  void evaluate(int64_t step);
  void count_evaluations(int64_t row, int64_t evaluations) {
    result_.evaluations[static_cast<size_t>(index(row))] += evaluations;
  }
  // Tells the observer and the trace about x before step `step` of `steps`.
  void report(int64_t step, int64_t steps, double temperature, double sigma);
  void record_draws();  // appends the energies to energy_draws

  // Calls body(row) for all rows, in parallel; false means that the row's x has left the range of numbers,
  // which is the error this throws.
  void for_rows(int64_t step, const std::function<bool(int64_t)>& body);
  [[noreturn]] void fail_diverged(int64_t row, int64_t step) const;

  // Copies x of a row to the result and remembers its energy and noise level.
  void keep(int64_t row);
  // Drops the rows whose flag is set from the batch.
  void drop(const std::vector<uint8_t>& finished);
  // Every row: one jump to x - sigma0² grad_x when asked for (not after a stop), then keep. evaluate() must
  // have been called at x.
  Samples finish(bool jump, int64_t step);

 private:
  const Run& run_;
  std::string hint_;
  Tensor x_memory_, grad_memory_;
  TensorView x_, grad_x_;
  std::vector<float> energy_;
  std::vector<int64_t> index_;
  Samples result_;
};

}  // namespace mdsm::sample

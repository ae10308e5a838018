// What is kept of a sampling run as it goes: energies and noise levels for the trace, and images for the
// trajectory of the first few samples. One recorder serves all batches of a run.
#pragma once

#include <map>
#include <span>
#include <vector>

#include "image/image.h"
#include "report/sample_store.h"
#include "sample/sampler.h"

namespace mdsm::report {

// Energy and noise level of every sample at up to kPoints steps.
class TraceRecorder {
 public:
  static constexpr int64_t kPoints = 300;

  TraceRecorder(double sigma0, int64_t samples) : sigma0_(sigma0), samples_(samples) {}
  void observe(const sample::StepReport& report);
  void store(SampleSet& set) const;

 private:
  void plan(int64_t steps);

  double sigma0_;
  int64_t samples_, stride_ = 0;
  std::vector<int64_t> steps_;  // those recorded
  std::vector<double> temperature_;
  std::vector<float> energy_, sigma_;  // (samples x points)
};

// The way of some samples from noise to image.
class Trajectory {
 public:
  static constexpr size_t kFrames = 100;  // at most so many a sample, evenly spaced

  Trajectory(const engine::EnergyModel& model, std::vector<uint64_t> seeds)
      : image_(model.image_shape()), sigma0_(model.sigma0()), seeds_(std::move(seeds)) {}
  bool wants(uint64_t seed) const;
  // seeds: those of the batch that the report is about.
  void observe(const sample::StepReport& report, std::span<const uint64_t> seeds);
  void finish(uint64_t seed, std::span<const float> image);

  // For each sample a noisy row and a denoised row, `columns` steps from left to right; the last column is
  // the result.
  image::Image strips(int64_t columns, int64_t scale) const;
  // Noisy row above denoised row, a column for each sample; samples that are done stay.
  std::vector<image::Image> frames(int64_t scale) const;

 private:
  struct Frame {
    std::vector<float> noisy, denoised;
  };
  const std::vector<Frame>& of(uint64_t seed) const;

  Shape image_;
  double sigma0_;
  std::vector<uint64_t> seeds_;
  std::map<uint64_t, std::vector<Frame>> frames_;
};

// Energy, temperature and noise level against the step, as SVG: mean over the samples, and the band in which
// eight of ten lie.
std::string trace_plot(const SampleSet& set, const std::string& title);
// The last step at which a sample was still moving; -1 without a trace.
int64_t last_step(const SampleSet& set);

}  // namespace mdsm::report

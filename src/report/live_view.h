// Samples as they form, for somebody who watches: live-noisy.png and live-denoised.png in a folder, rewritten
// a few times a second at most. One view serves all batches of a run.
#pragma once

#include <chrono>

#include "core/files.h"
#include "core/tensor.h"
#include "sample/sampler.h"

namespace mdsm::report {

class LiveView {
 public:
  static constexpr int64_t kShown = 64;  // samples of a batch

  // scale: size of a pixel.
  LiveView(fs::path folder, const engine::EnergyModel& model, int64_t scale)
      : folder_(std::move(folder)), image_(model.image_shape()), sigma0_(model.sigma0()), scale_(scale) {}
  // samples: in the batch that the report is about.
  void observe(const sample::StepReport& report, int64_t samples);

 private:
  void write(const char* name, ConstTensorView x) const;

  fs::path folder_;
  Shape image_;
  double sigma0_;
  int64_t scale_;
  Tensor noisy_, denoised_;  // samples that are done stay as they were seen last
  std::chrono::steady_clock::time_point written_{};
};

}  // namespace mdsm::report

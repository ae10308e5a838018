// Pictures of what the model has learned so far: fixed test images with noise of every level put on them, and
// what one denoising jump with the averaged weights makes of them.
#pragma once

#include <memory>
#include <vector>

#include "core/files.h"
#include "data/dataset.h"
#include "engine/engine.h"
#include "train/noise.h"

namespace mdsm {

class Preview {
 public:
  // Takes the first images of `test`. The engine of its own keeps the trained one's buffers and weights
  // untouched; it is made with the first picture.
  Preview(const Dataset& test, const Spec& spec, const NoiseOptions& noise, uint64_t seed,
          EngineOptions engine);

  // Noisy row, denoised row (x~ - sigma0² grad_x(x~)), clean row.
  void write(const fs::path& png, const Engine& trained);

 private:
  static constexpr int64_t kImages = 10;

  Spec spec_;
  EngineOptions engine_options_;
  std::unique_ptr<Engine> engine_;
  Tensor clean_, noisy_;
};

}  // namespace mdsm

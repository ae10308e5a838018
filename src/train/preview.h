// Pictures of what the model has learned so far: fixed test images with noise of every level put on them, and
// what one denoising jump with the averaged weights makes of them.
#pragma once

#include <memory>
#include <vector>

#include "core/files.h"
#include "data/dataset.h"
#include "engine/registry/registry.h"
#include "train/noise.h"

namespace mdsm::train {

class Preview {
 public:
  static constexpr int64_t kImages = 10;

  // Takes the first images of `test`. The engine of its own keeps the trained one's buffers and weights
  // untouched; it is made with the first picture.
  Preview(const data::Dataset& test, const network::Spec& spec, const NoiseOptions& noise, uint64_t seed,
          engine::EngineOptions engine);

  // Noisy row, denoised row (x~ - sigma0² grad_x(x~)), clean row.
  void write(const fs::path& png, const engine::TrainableEnergy& trained);

 private:
  network::Spec spec_;
  engine::EngineOptions engine_options_;
  std::unique_ptr<engine::TrainableEnergy> engine_;
  Tensor clean_, noisy_;
};

}  // namespace mdsm::train

// Blind denoising: the network removes noise of a level it is not told.
#pragma once

#include <vector>

#include "engine/energy_model.h"

namespace mdsm::restore {

// out = x - sigma0² grad_x. All (N,C,H,W); out may be x.
void denoise_into(double sigma0, ConstTensorView x, ConstTensorView grad_x, TensorView out);
// ‖sigma0² grad_x‖ / sqrt(pixels) of each image: the standard deviation of the noise the network sees.
std::vector<float> noise_levels(double sigma0, ConstTensorView grad_x);

struct DenoiseOptions {
  int64_t steps = 1;    // 1: one jump, the best guess in mean square; more: partial steps before it, sharper
  double share = 0.5;   // of the residual removed by each partial step
  double strength = 1;  // 1 removes the noise found; less leaves some of it, more smooths beyond it
};

struct Denoised {
  Tensor x;                   // (N,C,H,W), not clamped to [0,1]
  std::vector<float> sigma;   // (N) estimated noise level of the image given
  std::vector<float> energy;  // (N) of the image given
};

Denoised denoise(engine::EnergyModel& engine, ConstTensorView noisy, const DenoiseOptions& options = {});
// In the memory of the images given and of one gradient.
Denoised denoise_in_place(engine::EnergyModel& engine, Tensor noisy, const DenoiseOptions& options = {});

// Peak signal-to-noise ratio in dB of each image against the truth, for a peak of 1; infinity when equal.
std::vector<double> psnr(ConstTensorView x, ConstTensorView truth);

}  // namespace mdsm::restore

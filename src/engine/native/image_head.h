// Heads that compare the network's result F with the image itself, y = x - 1/2, and have no parameters
// (docs/design/unet.md):
//   squared residual  E = ‖y - F‖² / (2 sigma0²)
//   inner product     E = (‖y‖² - ⟨y, F⟩) / (2 sigma0²)
//   predicted noise   E = ‖F‖² / (2 sigma0²)
//   denoiser          no energy: the denoised image is 1/2 + F, and grad_x = (y - F) / sigma0²
// The network of each is a denoiser of its own: 1/2 + F, or x - F where F is the noise.
// Images lie with a border of zeros around them, as the first convolution reads them; F, delta and gamma are
// feature maps. Pixels outside of the window, and those beyond the image, which only fill it up to a size the
// network takes, count for nothing.
#pragma once

#include <cstdint>
#include <span>

#include "engine/native/epilogue.h"
#include "engine/trainable_energy.h"

namespace mdsm::engine::native {

// Floats of an image with its border, and of what kernels may read behind it without using it: so much lies
// between two images, which different threads write.
inline int64_t bordered_floats(int64_t channels, int64_t height, int64_t width) {
  constexpr int64_t kReadBeyond = 16;
  return channels * (height + 2) * (width + 2) + kReadBeyond;
}

struct ImageHead {
  network::Head kind;
  double sigma0;
  int64_t n;
  Shape image;    // one; the maps may be larger
  Window window;  // pixels of the image that count
  MapShape map;   // of F

  float scale() const;  // of dE/dF
  int64_t bordered() const { return bordered_floats(image.c, map.height, map.width); }

  void energy(const float* y, const float* f, std::span<float> energy) const;
  // dE/dF of each image, times its weight if there are any.
  void delta(const float* y, const float* f, std::span<const float> weight, float* delta) const;
  // Adds the part of dE/dx that does not go through F; grad_x: (n,C,H,W).
  void add_direct(const float* y, const float* f, float* grad_x) const;
  // Of a denoiser: grad_x, which is all direct.
  void denoiser_gradient(const float* y, const float* f, float* grad_x) const;
  // Of the network as a denoiser: ‖clean - denoised‖² of each image, and its derivative by F times the
  // image's weight.
  void denoiser_objective(const float* y, const float* clean, const float* f, std::span<const float> weight,
                          std::span<float> residual, float* delta) const;
  // gamma = dEdot/dF along v.
  void second_order(const float* v, const float* fdot, float* gamma) const;
};

}  // namespace mdsm::engine::native

// What can be sampled, integrated and scored: an energy of images, its gradient, the shape of the images and
// sigma0. Samplers, restoration, annealed importance sampling and outlier scores know this header and nothing
// of networks; a formula is as good an energy as a network.
//
// Conventions: images are float32 N,C,H,W; grad_x is +dE/dx (the score is its negative); any batch size. A
// model keeps buffers of its own and is used by one thread at a time; different models may run side by side.
// Public methods check shapes and finiteness of what they are given and call the private *_impl.
#pragma once

#include <mdsm/tensor.h>
#include <span>

namespace mdsm {

class EnergyModel {
 public:
  // image: shape of the images; its n is of no account.
  EnergyModel(const Shape& image, double sigma0) : image_(image.with_n(1)), sigma0_(sigma0) {}
  virtual ~EnergyModel() = default;
  EnergyModel(const EnergyModel&) = delete;
  EnergyModel& operator=(const EnergyModel&) = delete;

  const Shape& image_shape() const { return image_; }         // n = 1
  Shape images(int64_t n) const { return image_.with_n(n); }  // of a batch
  double sigma0() const { return sigma0_; }                   // x - sigma0² grad_x is the denoised image

  // False for a blind denoiser, which only has a score: energies are 0 then, and grad_x is the gradient of
  // nothing.
  virtual bool has_energy() const { return true; }
  // An error for what needs the energy itself: "mdsm energy", "the sampler hmc".
  void require_energy(const char* who) const;

  // energy: (N)
  void energy(ConstTensorView x, std::span<float> energy);
  // energy: (N), grad_x: (N,C,H,W)
  void energy_and_gradient(ConstTensorView x, std::span<float> energy, TensorView grad_x);

 protected:
  // Whether it computes images of this shape (n = 1), besides its own.
  virtual bool takes(const Shape& image) const { return image == image_; }
  void set_image_shape(const Shape& image) { image_ = image.with_n(1); }
  void check_images(ConstTensorView x, const char* what) const;
  static void check_count(size_t count, int64_t wanted, const char* what);

 private:
  // Without one of its own: energy_and_gradient_impl, and the gradient is thrown away.
  virtual void energy_impl(ConstTensorView x, std::span<float> energy);
  virtual void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) = 0;

  Shape image_;
  double sigma0_;
};

}  // namespace mdsm

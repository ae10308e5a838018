// A bound on the likelihood of images from how well they are denoised (I-MMSE). With x~ = x + sigma n and the
// reported loss l(sigma) = E‖x - D(x~)‖²/sigma², an image x with noise `low` on top has, in expectation over
// that noise, under the denoising process that D defines (not under exp(-E)/Z)
//
//   -log p(x + low n) <= d/2 ln(2 pi e low²) + integral of l(sigma) d ln sigma from low to infinity
//
// in nats. Up to `high` the integral is a Gauss-Legendre sum; above it D is a Wiener filter and the integral
// known (gaussian_fit.h). docs/evaluation.md derives it.
//
// Clean images of 8 bits: the first term is replaced by -log P(x | x + low n), a Gaussian about D(x + low n)
// cut into the 256 grey levels, every pixel by itself.
#pragma once

#include <functional>
#include <optional>

#include "distributed/communicator.h"
#include "engine/energy_model.h"
#include "eval/gaussian_fit.h"
#include "eval/mean.h"

namespace mdsm::eval {

// Writes D(x~) of images with noise sigma; a blind model does not look at sigma.
using Denoiser = std::function<void(ConstTensorView noisy, double sigma, TensorView clean)>;
Denoiser blind_denoiser(engine::EnergyModel& model);  // x~ - sigma0² grad_x

struct BoundOptions {
  double low = 0.1, high = 3;  // noise levels
  int64_t nodes = 20;          // of the quadrature
  int64_t draws = 2;           // of the noise at every node
  int64_t batch = 64;          // makes no difference to the result
  uint64_t seed = 0;
  std::optional<double> last_step = {};  // clean images: width of the Gaussian about D
};

struct DenoisingBound {
  int64_t dimensions = 0;
  std::vector<double> sigma;      // (nodes)
  std::vector<Mean> loss;         // (nodes) over images, of means over draws
  Mean first, integral, tail;     // the terms in nats; first: of the noise, or of the last step to 8 bits
  Mean nats;                      // their sum; its error is that of images and noise together
  double noise_error = 0;         // the part of that error that more draws would lower; NaN for one draw
  double quadrature_error = 0;    // in nats, an estimate from above
  std::vector<double> per_image;  // (N) nats

  double bits(double value) const;  // nats to bits a dimension
};

// fit: at noise `high`. done: evaluations so far, all images together; may be empty. Several processes share
// the images; rank 0 has the bound, others get an empty one.
DenoisingBound denoising_bound(const Denoiser& denoise, const data::Dataset& images, const GaussianFit& fit,
                               const BoundOptions& options, const std::function<void(int64_t)>& done = {},
                               distributed::Communicator& world = distributed::alone());

// Root mean square of x - D(x + sigma n) over pixels and the first `limit` images: the width to use for
// last_step. From other images than those whose likelihood is wanted. The same on all ranks.
double denoising_error(const Denoiser& denoise, const data::Dataset& images, int64_t limit, double sigma,
                       int64_t batch, uint64_t seed, distributed::Communicator& world = distributed::alone());

}  // namespace mdsm::eval

// Linear inverse problems with a model that was trained for none of them: missing pixels, super-resolution,
// deblurring. The part of the image that the measurement fixes is pulled to it, the rest is sampled.
#pragma once

#include "restore/measurement.h"
#include "sample/fast.h"
#include "sample/langevin.h"

namespace mdsm::restore {

// The noise-blind sampler with the residual split (Kadkhodaie & Simoncelli):
// d = (I - P) sigma0² grad_x + (P x - M⁺y). measured: M⁺y for every sample of the run (lift()). The result
// satisfies the measurement exactly: P x = M⁺y.
sample::Samples restore(const sample::Run& run, const LinearMeasurement& measurement,
                        ConstTensorView measured, const sample::FastOptions& options = {});

// A start near the end for restore(): measured + sigma n, with the noise of the run's seeds. A few steps are
// enough from there, and the details are fewer.
Tensor start_from(const sample::Run& run, ConstTensorView measured, double sigma);

// The same for missing pixels. images: (N,C,H,W), image i for sample i. Missing pixels are never read; known
// pixels are returned bit for bit.
sample::Samples inpaint_fast(const sample::Run& run, ConstTensorView images, const image::Mask& mask,
                             const sample::FastOptions& options = {});

// The paper's inpainting: annealed Langevin on the missing pixels, with noise sigma0 sqrt(T) put on the known
// ones before each gradient. Same promises.
sample::Samples inpaint_annealed(const sample::Run& run, ConstTensorView images, const image::Mask& mask,
                                 std::span<const double> temperatures,
                                 const sample::LangevinOptions& options = {});

}  // namespace mdsm::restore

// Completing pictures that are larger than those a network was trained on: at half their size first, and so
// on down to the size of the training. There the network knows what pictures look like; each finer scale
// starts from the coarser one with a little noise, and adds detail. For networks that take any size and the
// fast sampler.
#pragma once

#include "app/picture_sampling.h"
#include "app/picture_work.h"

namespace mdsm::app {

class CoarseToFine {
 public:
  // window: of PictureOptions; all must outlive this.
  CoarseToFine(const PictureSampling& sampling, const network::Model& model, const ModelUse& use,
               int64_t window)
      : sampling_(sampling), model_(model), use_(use), window_(window) {}

  // How often images of this shape are halved; 0: they are completed as they are.
  int64_t scales(const Shape& image) const;
  // About the share of the time that goes into the scales before the last one.
  double share_before(const Shape& image) const;
  // PictureSampling::inpaint() with the coarser scales before it. Evaluations are those of all scales.
  sample::Samples inpaint(const sample::Run& run, ConstTensorView images, const image::Mask& mask) const;

  // What is drawn, without an engine: each scale makes its own.
  struct Draws {
    std::span<const uint64_t> seeds;
    const sample::Observer& observer;
    const std::atomic<bool>* stop = nullptr;
  };
  // Images that were halved: all scales from the coarsest to their own.
  sample::Samples complete(const Draws& draws, ConstTensorView images, const image::Mask& mask) const;

 private:
  sample::Samples at_scale(const Draws& draws, ConstTensorView images, const image::Mask& mask,
                           const Tensor* half) const;
  sample::Samples in_one(const Draws& draws, ConstTensorView images, const image::Mask& mask,
                         const Tensor* half, const sample::WindowPlace* place) const;
  sample::Samples in_parts(const Draws& draws, ConstTensorView image, const image::Mask& mask,
                           const Tensor* half) const;

  const PictureSampling& sampling_;
  const network::Model& model_;
  const ModelUse& use_;
  int64_t window_;
};

}  // namespace mdsm::app

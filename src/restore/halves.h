// Pictures with missing pixels at half their size, and back: a first guess for completing large pictures.
#pragma once

#include "restore/restore.h"

namespace mdsm::restore {

// How often images have to be halved until their shorter side is as near as can be to `trained` pixels, by
// the ratio of the two.
int64_t halvings(const Shape& image, int64_t trained);

struct Halved {
  Tensor images;     // (N,C,(H+1)/2,(W+1)/2)
  image::Mask mask;  // of that size
};
// Every 2x2 pixels become the mean of those that are known. It is known where at least half of them are, and
// 0.5 elsewhere. Missing pixels are never read.
Halved halved(ConstTensorView images, const image::Mask& mask);

// Known pixels of images; in place of the missing ones what lies there in `half`, enlarged (bilinear). images
// may be a window of the picture that half is half of: top, left say where.
Tensor filled_from_half(ConstTensorView images, const image::Mask& mask, ConstTensorView half,
                        int64_t top = 0, int64_t left = 0);

// Missing pixels of a picture whose half is there: where all pixels of a 2x2 are missing, their mean is
// measured. y has the known pixels, and the others as `half` has them. place: images are a window of the
// picture, and a 2x2 that it cuts is not measured.
std::unique_ptr<LinearMeasurement> halves_measurement(image::Mask mask,
                                                      const sample::WindowPlace* place = nullptr);

// inpaint_fast() with what is missing completed at half the size already: starts there and adds detail, which
// keeps the mean of every 2x2, so that no error in colour can grow from scale to scale.
sample::Samples inpaint_finer(const sample::Run& run, ConstTensorView images, const image::Mask& mask,
                              ConstTensorView half, const sample::FastOptions& options);

}  // namespace mdsm::restore

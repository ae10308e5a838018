// Large pictures are completed and enlarged in windows: what the two share.
#pragma once

#include "app/picture_work.h"
#include "restore/windows.h"

namespace mdsm::app {

// Networks that take any size, and pictures that are neither cropped, resized nor padded.
bool in_windows(const PictureOptions& options, const network::Spec& spec, const data::Fitting& fitting);

// For missing pixels: nothing beyond the halo has a part in what is filled in. The gradient by a pixel is
// that of all terms which see it, and so sees twice as far as one of them; that of a denoiser is a term
// itself.
restore::WindowOptions completion_windows(const PictureOptions& options, const network::Spec& spec);
// For whole pictures made `factor` times as large: neighbours draw the same noise and hardly differ.
restore::WindowOptions enlargement_windows(const PictureOptions& options, const network::Spec& spec,
                                           int64_t factor);

// What one window shows of the picture, as the network sees it.
Tensor fitted_window(const PictureWork& work, int64_t picture, const network::Spec& spec,
                     const image::Picture& whole, const image::PixelBox& box);

// Reports of window number `window` of `windows` as parts of the whole. The observer must outlive the result,
// here and below.
sample::Observer within(const sample::Observer& observer, int64_t window, int64_t windows);
// Reports of work that takes the whole from one share of it to another, in hundredths.
sample::Observer between(const sample::Observer& observer, double from, double to);

// The windows around what is missing, an area each.
std::vector<restore::WindowGrid> missing_grids(const image::Mask& mask,
                                               const restore::WindowOptions& windows);

struct MissingWindow {
  image::PixelBox box;
  image::Mask known;  // of the box
  sample::WindowPlace place;
  sample::Observer observer;
};
// Calls fill for one window after the other and hands their rows on (restore::solve_in_windows). False when a
// window is stopped: fill returns nothing.
bool fill_windows(const std::vector<restore::WindowGrid>& grids, const image::Mask& mask,
                  const sample::Observer& observer,
                  const std::function<std::optional<Tensor>(const MissingWindow&)>& fill,
                  const restore::TakeRows& take);

// Squared errors of parts, for the PSNR of the whole.
class SquaredErrors {
 public:
  void add(std::span<const float> x, std::span<const float> truth);  // x is clamped to [0,1]
  double psnr(int64_t values) const;  // of so many, those not added being equal

 private:
  double sum_ = 0;
};

}  // namespace mdsm::app

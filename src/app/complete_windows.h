// Completing one large picture in windows around its missing pixels; internal to complete.cpp.
#pragma once

#include <optional>

#include "app/coarse_to_fine.h"
#include "app/picture_windows.h"
#include "restore/halves.h"

namespace mdsm::app {

struct WindowedCompletion {
  image::Picture picture;
  double psnr = 0;  // against the picture as given
  int64_t evaluations = 0;
  image::PixelBox shown;  // the first window, for the figure
};

class CompletionWindows {
 public:
  CompletionWindows(const PictureWork& work, const PictureOptions& options, const PictureSampling& sampling,
                    const CoarseToFine& scales, const network::Spec& spec, PictureEngine& engine)
      : work_(work), options_(options), sampling_(sampling), scales_(scales), spec_(spec), engine_(engine) {}

  // Where pixels are missing: nothing that is computed depends on what they were. Nothing: stopped.
  std::optional<WindowedCompletion> complete(int64_t picture, const image::Mask& mask, uint64_t seed,
                                             const sample::Observer& observer,
                                             const std::atomic<bool>& stop) const;

 private:
  restore::Halved halved(int64_t picture, const image::Picture& visible, const image::Mask& mask) const;

  const PictureWork& work_;
  const PictureOptions& options_;
  const PictureSampling& sampling_;
  const CoarseToFine& scales_;
  const network::Spec& spec_;
  PictureEngine& engine_;
};

}  // namespace mdsm::app

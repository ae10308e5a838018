// Enlarging one large picture in windows; internal to restore.cpp.
#pragma once

#include <optional>

#include "app/picture_windows.h"
#include "app/restore.h"

namespace mdsm::app {

struct WindowedEnlargement {
  image::Picture picture;
  double psnr_before = 0, psnr_after = 0;  // with degrade, against the picture
};

class EnlargementWindows {
 public:
  EnlargementWindows(const PictureWork& work, const RestoreOptions& options, const PictureSampling& sampling,
                     const network::Spec& spec, PictureEngine& engine)
      : work_(work), options_(options), sampling_(sampling), spec_(spec), engine_(engine) {}

  restore::WindowOptions layout() const;
  // whole: shape of the result. Nothing: stopped.
  std::optional<WindowedEnlargement> enlarge(int64_t picture, const Shape& whole, uint64_t seed,
                                             RestoreStart start, const sample::Observer& observer,
                                             const std::atomic<bool>& stop) const;

 private:
  Tensor measured(int64_t picture, const image::Picture& given, const image::PixelBox& seen) const;

  const PictureWork& work_;
  const RestoreOptions& options_;
  const PictureSampling& sampling_;
  const network::Spec& spec_;
  PictureEngine& engine_;
};

}  // namespace mdsm::app

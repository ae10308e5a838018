#include "app/restore_windows.h"

#include "image/window.h"

namespace mdsm::app {

restore::WindowOptions EnlargementWindows::layout() const {
  return enlargement_windows(options_.pictures, spec_, options_.factor);
}

// y of what a window of the result sees.
Tensor EnlargementWindows::measured(int64_t picture, const image::Picture& given,
                                    const image::PixelBox& seen) const {
  const int64_t scale = options_.enlargement();
  Tensor part = fitted_window(work_, picture, spec_, given,
                              {seen.x / scale, seen.y / scale, seen.width / scale, seen.height / scale});
  if (!options_.degrade) return part;
  return restore::block_mean_measurement(options_.factor)->measure(part);
}

std::optional<WindowedEnlargement> EnlargementWindows::enlarge(int64_t picture, const Shape& whole,
                                                               uint64_t seed, RestoreStart start,
                                                               const sample::Observer& observer,
                                                               const std::atomic<bool>& stop) const {
  const image::Picture given = work_.read(picture);
  const auto grid = restore::window_grid({0, 0, whole.w, whole.h}, whole.h, whole.w, layout());
  const auto measurement = restore::block_mean_measurement(options_.factor);
  WindowedEnlargement out{image::blank(given, whole)};
  SquaredErrors before, after;
  int64_t window = 0;

  const auto solve = [&](const image::PixelBox& seen) -> std::optional<Tensor> {
    const Shape image{1, whole.c, seen.height, seen.width};
    const sample::WindowPlace place{whole.h, whole.w, seen.y, seen.x};
    sample::Samples drawn =
        sampling_.solve({.model = engine_.at(image, 1),
                         .seeds = {&seed, 1},
                         .observer = within(observer, window++, grid.count()),
                         .stop = &stop,
                         .place = &place},
                        *measurement, measurement->lift(measured(picture, given, seen), image), start);
    if (drawn.stopped) return std::nullopt;
    return std::move(drawn.x);
  };
  const auto take = [&](const image::PixelBox& at, const Tensor& rows) {
    image::paste(rows, at, out.picture);
    if (!options_.degrade) return;
    const Tensor truth = fitted_window(work_, picture, spec_, given, at);
    after.add(rows.values(), truth.values());
    before.add(measurement->lift(measurement->measure(truth), truth.shape()).values(), truth.values());
  };
  if (!restore::solve_in_windows(grid, solve, take)) return std::nullopt;
  out.psnr_before = before.psnr(whole.count());
  out.psnr_after = after.psnr(whole.count());
  return out;
}

}  // namespace mdsm::app

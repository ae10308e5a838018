#include "app/complete_windows.h"

#include <algorithm>

#include "core/round_up.h"
#include "image/window.h"

namespace mdsm::app {
namespace {

image::PixelBox first_window(const restore::WindowGrid& grid) {
  const restore::WindowSpan &row = grid.rows.front(), &column = grid.columns.front();
  return {column.start, row.start, column.length, row.length};
}

// Known pixels as they are in the truth.
void show_known(const Tensor& truth, const image::Mask& mask, Tensor& rows) {
  const size_t plane = mask.known.size();
  for (size_t i = 0; i < rows.values().size(); ++i)
    if (mask.known[i % plane]) rows.values()[i] = truth.values()[i];
}

}  // namespace

// The whole picture at half its size, made in strips.
restore::Halved CompletionWindows::halved(int64_t picture, const image::Picture& visible,
                                          const image::Mask& mask) const {
  constexpr int64_t kRows = 256;  // of a strip: an even number
  const Shape& m = mask.shape;
  const int64_t h = divided_up(m.h, 2), w = divided_up(m.w, 2), c = spec_.input(1).c;
  restore::Halved out{Tensor({1, c, h, w}), {{1, 1, h, w}, {}}};
  for (int64_t y = 0; y < m.h; y += kRows) {
    const image::PixelBox strip{0, y, m.w, std::min(kRows, m.h - y)};
    const restore::Halved part =
        restore::halved(fitted_window(work_, picture, spec_, visible, strip), image::cut(mask, strip));
    const int64_t values = part.images.shape().h * w;
    for (int64_t k = 0; k < c; ++k)
      std::copy_n(part.images.data() + k * values, values, out.images.data() + (k * h + y / 2) * w);
    out.mask.known.insert(out.mask.known.end(), part.mask.known.begin(), part.mask.known.end());
  }
  return out;
}

std::optional<WindowedCompletion> CompletionWindows::complete(int64_t picture, const image::Mask& mask,
                                                              uint64_t seed, const sample::Observer& observer,
                                                              const std::atomic<bool>& stop) const {
  const image::Picture given = work_.read(picture);
  image::Picture visible = given;
  image::blacken(visible, mask);
  const auto grids = missing_grids(mask, completion_windows(options_, spec_));
  WindowedCompletion out{work_.fitting(picture, given.shape, spec_).coloured(given), 0, 0, {}};
  SquaredErrors errors;
  std::optional<Tensor> half;
  const double before = scales_.share_before(given.shape);
  const sample::Observer first = between(observer, 0, before), last = between(observer, before, 1);
  if (before > 0) {
    const restore::Halved below = halved(picture, visible, mask);
    sample::Samples coarse = scales_.complete({{&seed, 1}, first, &stop}, below.images, below.mask);
    if (coarse.stopped) return std::nullopt;
    out.evaluations += coarse.evaluations[0];
    half = std::move(coarse.x);
  }

  const auto fill = [&](const MissingWindow& window) -> std::optional<Tensor> {
    Tensor x = fitted_window(work_, picture, spec_, visible, window.box);
    if (std::ranges::count(window.known.known, uint8_t{0}) == 0) return x;
    const sample::Run run{.model = engine_.at(x.shape(), 1),
                          .seeds = {&seed, 1},
                          .observer = window.observer,
                          .stop = &stop,
                          .place = &window.place};
    sample::Samples drawn =
        half ? sampling_.inpaint_from(run, x, window.known, *half) : sampling_.inpaint(run, x, window.known);
    out.evaluations += drawn.evaluations[0];
    if (drawn.stopped) return std::nullopt;
    return std::move(drawn.x);
  };
  const auto take = [&](const image::PixelBox& at, Tensor rows) {
    const Tensor truth = fitted_window(work_, picture, spec_, given, at);
    show_known(truth, image::cut(mask, at), rows);
    errors.add(rows.values(), truth.values());
    image::paste(rows, at, out.picture, &mask);
  };
  if (!fill_windows(grids, mask, last, fill, take)) return std::nullopt;
  if (!grids.empty()) out.shown = first_window(grids.front());
  out.psnr = errors.psnr(out.picture.shape.count());
  return out;
}

}  // namespace mdsm::app

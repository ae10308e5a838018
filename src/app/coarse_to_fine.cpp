#include "app/coarse_to_fine.h"

#include <algorithm>
#include <cmath>

#include "app/picture_windows.h"
#include "image/window.h"
#include "restore/halves.h"

namespace mdsm::app {
namespace {

sample::Samples unchanged(ConstTensorView images) {
  const auto n = static_cast<size_t>(images.shape.n);
  sample::Samples out;
  out.x = Tensor(images.shape);
  out.energy.resize(n);
  out.sigma.resize(n);
  out.evaluations.resize(n);
  std::ranges::copy(images.values(), out.x.data());
  return out;
}

// What the box shows of image (1,C,H,W).
Tensor part_of(ConstTensorView image, const image::PixelBox& box) {
  const Shape& s = image.shape;
  Tensor out({1, s.c, box.height, box.width});
  float* to = out.data();
  for (int64_t c = 0; c < s.c; ++c)
    for (int64_t y = 0; y < box.height; ++y, to += box.width)
      std::copy_n(image.data + (c * s.h + box.y + y) * s.w + box.x, box.width, to);
  return out;
}

// Missing pixels of image get their values from rows, which lie at the box.
void put(ConstTensorView rows, const image::PixelBox& box, const image::Mask& mask, TensorView image) {
  const Shape& s = image.shape;
  const float* from = rows.data;
  for (int64_t c = 0; c < s.c; ++c)
    for (int64_t y = box.y; y < box.y + box.height; ++y)
      for (int64_t x = box.x; x < box.x + box.width; ++x, ++from)
        if (!mask.at(0, c, y, x)) image.data[(c * s.h + y) * s.w + x] = *from;
}

// Of all scales together, where a finer one takes four times as long as the one before. The coarsest has ten
// times as many evaluations.
double cost(int64_t scales) {
  double sum = 10;
  for (int64_t i = 1; i <= scales; ++i) sum += std::pow(4.0, static_cast<double>(i));
  return sum;
}

sample::Samples with_evaluations(sample::Samples fine, const sample::Samples& coarse) {
  for (size_t i = 0; i < fine.evaluations.size(); ++i) fine.evaluations[i] += coarse.evaluations[i];
  return fine;
}

}  // namespace

int64_t CoarseToFine::scales(const Shape& image) const {
  const network::Spec& spec = model_.parameters.spec();
  if (!spec.any_size() || sampling_.method != InpaintMethod::fast || !sampling_.coarse) return 0;
  const Shape trained = spec.input(1);
  return restore::halvings(image, std::min(trained.h, trained.w));
}

double CoarseToFine::share_before(const Shape& image) const {
  const int64_t count = scales(image);
  return count == 0 ? 0 : cost(count - 1) / cost(count);
}

sample::Samples CoarseToFine::in_one(const Draws& draws, ConstTensorView images, const image::Mask& mask,
                                     const Tensor* half, const sample::WindowPlace* place) const {
  const auto engine = use_.make_for_pictures(model_, images.shape.n, images.shape.with_n(1), {});
  const sample::Run run{
      .model = *engine, .seeds = draws.seeds, .observer = draws.observer, .stop = draws.stop, .place = place};
  if (!half) return sampling_.inpaint(run, images, mask);
  return sampling_.inpaint_from(run, images, mask, *half);
}

// One large image, around its missing pixels.
sample::Samples CoarseToFine::in_parts(const Draws& draws, ConstTensorView image, const image::Mask& mask,
                                       const Tensor* half) const {
  PictureOptions options;
  options.window = window_;
  const restore::WindowOptions windows = completion_windows(options, model_.parameters.spec());
  sample::Samples out = unchanged(image);
  const auto fill = [&](const MissingWindow& window) -> std::optional<Tensor> {
    sample::Samples drawn = in_one({draws.seeds, window.observer, draws.stop}, part_of(image, window.box),
                                   window.known, half, &window.place);
    out.evaluations[0] += drawn.evaluations[0];
    if (drawn.stopped) return std::nullopt;
    return std::move(drawn.x);
  };
  const auto take = [&](const image::PixelBox& at, const Tensor& rows) { put(rows, at, mask, out.x); };
  out.stopped = !fill_windows(missing_grids(mask, windows), mask, draws.observer, fill, take);
  return out;
}

sample::Samples CoarseToFine::at_scale(const Draws& draws, ConstTensorView images, const image::Mask& mask,
                                       const Tensor* half) const {
  if (std::ranges::count(mask.known, uint8_t{0}) == 0) return unchanged(images);
  const Shape& s = images.shape;
  if (s.n == 1 && window_ > 0 && s.h * s.w > window_ * window_) return in_parts(draws, images, mask, half);
  return in_one(draws, images, mask, half, nullptr);
}

sample::Samples CoarseToFine::complete(const Draws& draws, ConstTensorView images,
                                       const image::Mask& mask) const {
  if (scales(images.shape) == 0) return at_scale(draws, images, mask, nullptr);
  const restore::Halved half = restore::halved(images, mask);
  const double before = share_before(images.shape);
  const sample::Observer first = between(draws.observer, 0, before),
                         last = between(draws.observer, before, 1);
  sample::Samples coarse = complete({draws.seeds, first, draws.stop}, half.images, half.mask);
  if (coarse.stopped) return coarse;
  return with_evaluations(at_scale({draws.seeds, last, draws.stop}, images, mask, &coarse.x), coarse);
}

sample::Samples CoarseToFine::inpaint(const sample::Run& run, ConstTensorView images,
                                      const image::Mask& mask) const {
  if (scales(images.shape) == 0) return sampling_.inpaint(run, images, mask);
  const restore::Halved half = restore::halved(images, mask);
  const double before = share_before(images.shape);
  const sample::Observer first = between(run.observer, 0, before);
  sample::Samples coarse = complete({run.seeds, first, run.stop}, half.images, half.mask);
  if (coarse.stopped) return coarse;
  sample::Run last = run;
  last.observer = between(run.observer, before, 1);
  return with_evaluations(sampling_.inpaint_from(last, images, mask, coarse.x), coarse);
}

}  // namespace mdsm::app

#include "app/picture_windows.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

#include "core/error.h"
#include "core/round_up.h"
#include "image/window.h"

namespace mdsm::app {
namespace {

restore::WindowOptions windows_of(int64_t side, int64_t halo, int64_t ramp, int64_t step) {
  restore::WindowOptions out{0, round_up(halo, step), round_up(ramp, step), step};
  if (side < out.least_side())
    fail_usage(fmt::format("use {} or more, or 0 for whole pictures", out.least_side()),
               "--window {}: this network needs {} pixels around what it fills in", side, out.halo);
  out.side = side / step * step;
  return out;
}

}  // namespace

bool in_windows(const PictureOptions& options, const network::Spec& spec, const data::Fitting& fitting) {
  const Shape& s = fitting.shape();
  return options.window > 0 && spec.any_size() && fitting.text().empty() &&
         s.h * s.w > options.window * options.window;
}

restore::WindowOptions completion_windows(const PictureOptions& options, const network::Spec& spec) {
  const engine::TileGeometry geometry = engine::tile_geometry(spec);
  const int64_t reach = network::has_energy(spec.head) ? 2 * geometry.halo : geometry.halo;
  return windows_of(options.window, reach, geometry.halo / 2, geometry.step);
}

restore::WindowOptions enlargement_windows(const PictureOptions& options, const network::Spec& spec,
                                           int64_t factor) {
  const engine::TileGeometry geometry = engine::tile_geometry(spec);
  return windows_of(options.window, geometry.halo, geometry.halo / 2, std::lcm(geometry.step, factor));
}

Tensor fitted_window(const PictureWork& work, int64_t picture, const network::Spec& spec,
                     const image::Picture& whole, const image::PixelBox& box) {
  const image::Picture part = image::cut(whole, box);
  const data::Fitting fitting = work.fitting(picture, part.shape, spec);
  Tensor out(fitting.shape());
  std::ranges::copy(fitting.fit(part), out.data());
  return out;
}

sample::Observer within(const sample::Observer& observer, int64_t window, int64_t windows) {
  return [&observer, window, windows](const sample::StepReport& report) {
    if (!observer) return;
    sample::StepReport shown = report;
    shown.step = window * report.steps + report.step;
    shown.steps = windows * report.steps;
    observer(shown);
  };
}

sample::Observer between(const sample::Observer& observer, double from, double to) {
  return [&observer, from, to](const sample::StepReport& report) {
    if (!observer) return;
    sample::StepReport shown = report;
    shown.step = static_cast<int64_t>(100 * (from + (to - from) * report.done()));
    shown.steps = 100;
    observer(shown);
  };
}

std::vector<restore::WindowGrid> missing_grids(const image::Mask& mask,
                                               const restore::WindowOptions& windows) {
  std::vector<restore::WindowGrid> found;
  for (const image::PixelBox& area : restore::missing_areas(mask, windows.halo))
    found.push_back(restore::window_grid(area, mask.shape.h, mask.shape.w, windows));
  return found;
}

bool fill_windows(const std::vector<restore::WindowGrid>& grids, const image::Mask& mask,
                  const sample::Observer& observer,
                  const std::function<std::optional<Tensor>(const MissingWindow&)>& fill,
                  const restore::TakeRows& take) {
  int64_t window = 0, windows = 0;
  for (const restore::WindowGrid& grid : grids) windows += grid.count();
  const auto solve = [&](const image::PixelBox& box) {
    return fill({box,
                 image::cut(mask, box),
                 {mask.shape.h, mask.shape.w, box.y, box.x},
                 within(observer, window++, windows)});
  };
  return std::ranges::all_of(
      grids, [&](const restore::WindowGrid& grid) { return restore::solve_in_windows(grid, solve, take); });
}

void SquaredErrors::add(std::span<const float> x, std::span<const float> truth) {
  for (size_t i = 0; i < x.size(); ++i) {
    const double error = static_cast<double>(std::clamp(x[i], 0.0f, 1.0f)) - static_cast<double>(truth[i]);
    sum_ += error * error;
  }
}

double SquaredErrors::psnr(int64_t values) const {
  return sum_ == 0 ? std::numeric_limits<double>::infinity()
                   : 10 * std::log10(static_cast<double>(values) / sum_);
}

}  // namespace mdsm::app

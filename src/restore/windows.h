// Large pictures in windows. A window is solved like a picture of its own; what counts of its result lies a
// halo away from its edges, and neighbours are blended where they meet. Memory is that of a row of windows.
#pragma once

#include <functional>
#include <optional>
#include <vector>

#include "core/tensor.h"
#include "image/mask.h"

namespace mdsm::restore {

struct WindowOptions {
  int64_t side = 1024;  // of the windows at most, in pixels: a multiple of step, at least least_side()
  int64_t halo = 0;     // pixels seen around those that count, up to `ramp` less where windows are blended
  int64_t ramp = 0;     // windows are blended over so many pixels to each side of where they meet
  int64_t step = 1;     // what starts are multiples of; weights are the same over so many pixels

  int64_t least_side() const { return 2 * (halo + ramp + step); }
};

// A window along one axis: what it sees, and how much its result counts for the pixels from `first` on. The
// weights of all windows add up to 1.
struct WindowSpan {
  int64_t start = 0, length = 0;
  int64_t first = 0;
  std::vector<float> weights;
  int64_t end() const { return first + static_cast<int64_t>(weights.size()); }
};
// Windows for the pixels begin .. end-1 of an axis of `size` pixels.
std::vector<WindowSpan> window_spans(int64_t begin, int64_t end, int64_t size, const WindowOptions& options);

struct WindowGrid {
  std::vector<WindowSpan> rows, columns;
  int64_t count() const { return static_cast<int64_t>(rows.size() * columns.size()); }
};
WindowGrid window_grid(const image::PixelBox& area, int64_t height, int64_t width,
                       const WindowOptions& options);

// Boxes around the missing pixels of a mask (1,1,H,W); between two of them are `apart` pixels or more.
std::vector<image::PixelBox> missing_areas(const image::Mask& mask, int64_t apart);

// (1,C,H,W) for what a window sees; nothing: stopped.
using SolveWindow = std::function<std::optional<Tensor>(const image::PixelBox& seen)>;
// Finished rows of the area, from top to bottom.
using TakeRows = std::function<void(const image::PixelBox& rows, Tensor values)>;
// False when it was stopped.
bool solve_in_windows(const WindowGrid& grid, const SolveWindow& solve, const TakeRows& take);

}  // namespace mdsm::restore

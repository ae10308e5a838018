#include "restore/windows.h"

#include <algorithm>

#include "core/error.h"
#include "core/round_up.h"

namespace mdsm::restore {
namespace {

int64_t round_down(int64_t value, int64_t step) { return value / step * step; }

// How far pixel p is on the way from one window to the next, which meet at b: 0 to 1.
float passed(int64_t p, int64_t b, const WindowOptions& options) {
  if (options.ramp == 0) return p < b ? 0.0f : 1.0f;
  const double at = static_cast<double>(round_down(p, options.step) - b + options.ramp) +
                    static_cast<double>(options.step) / 2;
  return static_cast<float>(std::clamp(at / static_cast<double>(2 * options.ramp), 0.0, 1.0));
}

// Evenly spread starts of windows that share at least two halos.
std::vector<int64_t> starts_of(int64_t low, int64_t high, const WindowOptions& o) {
  const int64_t shared = 2 * o.halo, own = o.side - shared;
  const int64_t windows = (high - low - shared + own - 1) / own;
  std::vector<int64_t> starts;
  for (int64_t i = 0; i < windows; ++i)
    starts.push_back(low + round_down(i * (high - o.side - low) / (windows - 1), o.step));
  return starts;
}

bool near(const image::PixelBox& a, const image::PixelBox& b, int64_t apart) {
  return a.x < b.x + b.width + apart && b.x < a.x + a.width + apart && a.y < b.y + b.height + apart &&
         b.y < a.y + a.height + apart;
}

image::PixelBox around(const image::PixelBox& a, const image::PixelBox& b) {
  const int64_t x = std::min(a.x, b.x), y = std::min(a.y, b.y);
  return {x, y, std::max(a.x + a.width, b.x + b.width) - x, std::max(a.y + a.height, b.y + b.height) - y};
}

// Joins boxes until all are apart.
void join(std::vector<image::PixelBox>& boxes, int64_t apart) {
  for (size_t i = 0; i < boxes.size();) {
    size_t k = i + 1;
    while (k < boxes.size() && !near(boxes[i], boxes[k], apart)) ++k;
    if (k == boxes.size()) {
      ++i;
      continue;
    }
    boxes[i] = around(boxes[i], boxes[k]);
    boxes.erase(boxes.begin() + static_cast<int64_t>(k));
    i = 0;  // the larger box may have come near those before it
  }
}

// The missing pixels of a part of the mask, if there are any.
std::optional<image::PixelBox> missing_in(const image::Mask& mask, const image::PixelBox& part) {
  std::optional<image::PixelBox> found;
  for (int64_t y = part.y; y < std::min(part.y + part.height, mask.shape.h); ++y)
    for (int64_t x = part.x; x < std::min(part.x + part.width, mask.shape.w); ++x)
      if (!mask.known[static_cast<size_t>(y * mask.shape.w + x)])
        found = found ? around(*found, {x, y, 1, 1}) : image::PixelBox{x, y, 1, 1};
  return found;
}

Tensor copied_rows(const Tensor& from, int64_t first, int64_t count) {
  const Shape& s = from.shape();
  Tensor out({1, s.c, count, s.w});
  for (int64_t c = 0; c < s.c; ++c)
    std::copy_n(from.data() + (c * s.h + first) * s.w, count * s.w, out.data() + c * count * s.w);
  return out;
}

// sums: of the rows that `row` counts for, from column `left` on.
void add(const Tensor& solved, const WindowSpan& row, const WindowSpan& column, int64_t left, Tensor& sums) {
  const Shape &from = solved.shape(), &to = sums.shape();
  for (int64_t c = 0; c < to.c; ++c)
    for (size_t y = 0; y < row.weights.size(); ++y) {
      const int64_t at = static_cast<int64_t>(y);
      const float* source =
          solved.data() + (c * from.h + row.first - row.start + at) * from.w + column.first - column.start;
      float* target = sums.data() + (c * to.h + at) * to.w + column.first - left;
      for (size_t x = 0; x < column.weights.size(); ++x)
        target[x] += row.weights[y] * column.weights[x] * source[x];
    }
}

}  // namespace

std::vector<WindowSpan> window_spans(int64_t begin, int64_t end, int64_t size, const WindowOptions& o) {
  if (o.side < o.least_side() || o.side % o.step != 0 || o.ramp % o.step != 0 || o.ramp > o.halo)
    fail("this is a bug in the caller", "windows of {} pixels, halo {}, ramp {}, step {}", o.side, o.halo,
         o.ramp, o.step);
  const int64_t low = round_down(std::max<int64_t>(0, begin - o.halo), o.step);
  const int64_t high = std::min(round_up(end + o.halo, o.step), round_up(size, o.step));
  if (high - low <= o.side)
    return {
        {low, std::min(high, size) - low, begin, std::vector<float>(static_cast<size_t>(end - begin), 1.0f)}};
  const std::vector<int64_t> starts = starts_of(low, high, o);
  const auto meet = [&](size_t i) { return round_down((starts[i] + starts[i + 1] + o.side) / 2, o.step); };
  std::vector<WindowSpan> spans;
  for (size_t i = 0; i < starts.size(); ++i) {
    const bool from_start = i == 0, to_end = i + 1 == starts.size();
    WindowSpan span{
        starts[i], std::min(o.side, size - starts[i]), from_start ? begin : meet(i - 1) - o.ramp, {}};
    const int64_t last = to_end ? end : meet(i) + o.ramp;
    for (int64_t p = span.first; p < last; ++p)
      span.weights.push_back((from_start ? 1.0f : passed(p, meet(i - 1), o)) *
                             (to_end ? 1.0f : 1.0f - passed(p, meet(i), o)));
    spans.push_back(std::move(span));
  }
  return spans;
}

WindowGrid window_grid(const image::PixelBox& area, int64_t height, int64_t width,
                       const WindowOptions& options) {
  return {window_spans(area.y, area.y + area.height, height, options),
          window_spans(area.x, area.x + area.width, width, options)};
}

std::vector<image::PixelBox> missing_areas(const image::Mask& mask, int64_t apart) {
  const int64_t cell = std::max<int64_t>(64, apart);
  std::vector<image::PixelBox> boxes;
  for (int64_t y = 0; y < mask.shape.h; y += cell)
    for (int64_t x = 0; x < mask.shape.w; x += cell)
      if (const auto found = missing_in(mask, {x, y, cell, cell})) boxes.push_back(*found);
  join(boxes, apart);
  return boxes;
}

bool solve_in_windows(const WindowGrid& grid, const SolveWindow& solve, const TakeRows& take) {
  const int64_t left = grid.columns.front().first, width = grid.columns.back().end() - left;
  Tensor sums;  // of the rows that are under way
  for (size_t i = 0; i < grid.rows.size(); ++i) {
    const WindowSpan& row = grid.rows[i];
    const int64_t height = static_cast<int64_t>(row.weights.size());
    const Tensor begun = std::move(sums);
    sums = Tensor();
    for (const WindowSpan& column : grid.columns) {
      const auto solved = solve({column.start, row.start, column.length, row.length});
      if (!solved) return false;
      if (sums.shape().n == 0) {
        sums = Tensor({1, solved->shape().c, height, width});
        for (int64_t c = 0; begun.shape().n > 0 && c < sums.shape().c; ++c)
          std::copy_n(begun.data() + c * begun.shape().h * width, begun.shape().h * width,
                      sums.data() + c * height * width);
      }
      add(*solved, row, column, left, sums);
    }
    const bool last = i + 1 == grid.rows.size();
    const int64_t finished = last ? height : grid.rows[i + 1].first - row.first;
    take({left, row.first, width, finished}, copied_rows(sums, 0, finished));
    sums = copied_rows(sums, finished, height - finished);
  }
  return true;
}

}  // namespace mdsm::restore

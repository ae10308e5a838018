#include "classify/columns.h"

#include <algorithm>

namespace mdsm::classify {
namespace {

// What a tap of the kernel adds to the place of the result to find its pixel.
struct Tap {
  int64_t dy, dx;
};

constexpr Tap tap_of(int64_t k) { return {k / 3 - 1, k % 3 - 1}; }

}  // namespace

void unfold(const float* x, int64_t c, int64_t h, int64_t w, float* columns) {
  for (int64_t channel = 0; channel < c; ++channel, x += h * w)
    for (int64_t k = 0; k < 9; ++k) {
      const auto [dy, dx] = tap_of(k);
      const int64_t first = std::max<int64_t>(0, -dx), last = std::min(w, w - dx);
      for (int64_t y = 0; y < h; ++y, columns += w) {
        if (y + dy < 0 || y + dy >= h) {
          std::fill_n(columns, w, 0.0f);
          continue;
        }
        columns[0] = columns[w - 1] = 0;
        std::copy_n(x + (y + dy) * w + first + dx, last - first, columns + first);
      }
    }
}

void fold(const float* columns, int64_t c, int64_t h, int64_t w, float* x) {
  std::fill_n(x, c * h * w, 0.0f);
  for (int64_t channel = 0; channel < c; ++channel, x += h * w)
    for (int64_t k = 0; k < 9; ++k) {
      const auto [dy, dx] = tap_of(k);
      const int64_t first = std::max<int64_t>(0, -dx), last = std::min(w, w - dx);
      for (int64_t y = 0; y < h; ++y, columns += w) {
        if (y + dy < 0 || y + dy >= h) continue;
        float* to = x + (y + dy) * w + dx;
        for (int64_t i = first; i < last; ++i) to[i] += columns[i];
      }
    }
}

void pool(const float* x, int64_t c, int64_t h, int64_t w, float* out) {
  for (int64_t channel = 0; channel < c; ++channel, x += h * w)
    for (int64_t y = 0; y + 1 < h; y += 2) {
      const float *upper = x + y * w, *lower = upper + w;
      for (int64_t i = 0; i + 1 < w; i += 2)
        *out++ = std::max(std::max(upper[i], upper[i + 1]), std::max(lower[i], lower[i + 1]));
    }
}

void pool_back(const float* x, const float* d_out, int64_t c, int64_t h, int64_t w, float* d_x) {
  std::fill_n(d_x, c * h * w, 0.0f);
  for (int64_t channel = 0; channel < c; ++channel, x += h * w, d_x += h * w)
    for (int64_t y = 0; y + 1 < h; y += 2)
      for (int64_t i = 0; i + 1 < w; i += 2) {
        const int64_t places[4] = {y * w + i, y * w + i + 1, (y + 1) * w + i, (y + 1) * w + i + 1};
        int64_t best = places[0];
        for (const int64_t place : places)
          if (x[place] > x[best]) best = place;
        d_x[best] = *d_out++;
      }
}

}  // namespace mdsm::classify

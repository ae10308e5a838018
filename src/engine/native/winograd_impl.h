// The bodies of winograd_kernels.h, included once per instruction set by kernels_impl.h, whose rules hold
// here too. Vectors are those of the compiler, one block of channels wide.
#include "engine/native/vectors_impl.h"
#include "engine/native/winograd_kernels.h"

namespace mdsm::engine::native {
namespace {

// One-dimensional transforms for 4 results of a 3-tap kernel, at the points 0, +-kA, +-kB and infinity.
// With these points rounding errors are less than half of those with 1 and 2; all constants are exact.
template <class V>
struct Points6 {
  static constexpr int kPoints = 6, kTaps = 3;
  static constexpr float kA = 0.625f, kB = 1.375f, kAA = kA * kA, kBB = kB * kB;
  static constexpr float kNormA = 1.0f / (2.0f * kAA * (kAA - kBB)),
                         kNormB = 1.0f / (2.0f * kBB * (kBB - kAA));

  static MDSM_INLINE void input(const V* d, V* o) {
    const V even_a = d[4] - kBB * d[2], odd_a = kA * (d[3] - kBB * d[1]);
    const V even_b = d[4] - kAA * d[2], odd_b = kB * (d[3] - kAA * d[1]);
    o[0] = (kAA * kBB) * d[0] + (d[4] - (kAA + kBB) * d[2]);
    o[1] = even_a + odd_a;
    o[2] = even_a - odd_a;
    o[3] = even_b + odd_b;
    o[4] = even_b - odd_b;
    o[5] = (kAA * kBB) * d[1] + (d[5] - (kAA + kBB) * d[3]);
  }
  static MDSM_INLINE void output(const V* m, V* y) {
    const V sum_a = m[1] + m[2], sum_b = m[3] + m[4];
    const V difference_a = kA * (m[1] - m[2]), difference_b = kB * (m[3] - m[4]);
    y[0] = m[0] + sum_a + sum_b;
    y[1] = difference_a + difference_b;
    y[2] = kAA * sum_a + kBB * sum_b;
    y[3] = kAA * difference_a + (kBB * difference_b + m[5]);
  }
  static MDSM_INLINE void gradient(const V* y, V* o) {  // the transpose of output
    const V even_a = y[0] + kAA * y[2], odd_a = kA * (y[1] + kAA * y[3]);
    const V even_b = y[0] + kBB * y[2], odd_b = kB * (y[1] + kBB * y[3]);
    o[0] = y[0];
    o[1] = even_a + odd_a;
    o[2] = even_a - odd_a;
    o[3] = even_b + odd_b;
    o[4] = even_b - odd_b;
    o[5] = y[3];
  }
  static MDSM_INLINE void weights(const V* g, V* o) {
    const V even_a = kNormA * (g[0] + kAA * g[2]), odd_a = (kNormA * kA) * g[1];
    const V even_b = kNormB * (g[0] + kBB * g[2]), odd_b = (kNormB * kB) * g[1];
    o[0] = (1.0f / (kAA * kBB)) * g[0];
    o[1] = even_a + odd_a;
    o[2] = even_a - odd_a;
    o[3] = even_b + odd_b;
    o[4] = even_b - odd_b;
    o[5] = g[2];
  }
  static MDSM_INLINE void weights_transposed(const V* o, V* g) {
    const V sum_a = kNormA * (o[1] + o[2]), sum_b = kNormB * (o[3] + o[4]);
    g[0] = (1.0f / (kAA * kBB)) * o[0] + sum_a + sum_b;
    g[1] = (kNormA * kA) * (o[1] - o[2]) + (kNormB * kB) * (o[3] - o[4]);
    g[2] = kAA * sum_a + (kBB * sum_b + o[5]);
  }
};

// The same for a 2-tap kernel, at 0, 1, -1, 1/2 and infinity.
template <class V>
struct Points5 {
  static constexpr int kPoints = 5, kTaps = 2;

  static MDSM_INLINE void input(const V* d, V* o) {
    const V even = d[3] - d[1], odd = 0.5f * (d[1] + d[2]), half = 0.5f * (d[0] - d[2]);
    o[0] = even + half;                         //  d0/2 - d1 - d2/2 + d3
    o[1] = d[3] + (d[2] - odd);                 // -d1/2 + d2/2 + d3
    o[2] = d[3] + 0.5f * (d[1] - 3.0f * d[2]);  //  d1/2 - 3 d2/2 + d3
    o[3] = even;                                // -d1 + d3
    o[4] = d[4] - d[2] - 0.5f * even;           //  d1/2 - d2 - d3/2 + d4
  }
  static MDSM_INLINE void output(const V* m, V* y) {
    const V sum = m[1] + m[2], difference = m[1] - m[2];
    y[0] = m[0] + sum + m[3];
    y[1] = difference + 0.5f * m[3];
    y[2] = sum + 0.25f * m[3];
    y[3] = difference + (0.125f * m[3] + m[4]);
  }
  static MDSM_INLINE void gradient(const V* y, V* o) {
    const V even = y[0] + y[2], odd = y[1] + y[3];
    o[0] = y[0];
    o[1] = even + odd;
    o[2] = even - odd;
    o[3] = (y[0] + 0.5f * y[1]) + (0.25f * y[2] + 0.125f * y[3]);
    o[4] = y[3];
  }
  static MDSM_INLINE void weights(const V* g, V* o) {
    o[0] = 2.0f * g[0];
    o[1] = g[0] + g[1];
    o[2] = (1.0f / 3.0f) * (g[1] - g[0]);
    o[3] = (-8.0f / 3.0f) * g[0] + (-4.0f / 3.0f) * g[1];
    o[4] = g[1];
  }
  static MDSM_INLINE void weights_transposed(const V* o, V* g) {
    g[0] = 2.0f * o[0] + o[1] - (1.0f / 3.0f) * o[2] + (-8.0f / 3.0f) * o[3];
    g[1] = o[1] + (1.0f / 3.0f) * o[2] + (-4.0f / 3.0f) * o[3] + o[4];
  }
};

// The place of a tile among the images, and stepping to the next one.
struct TileWalk {
  int64_t image, y, x, down, across;

  TileWalk(int64_t index, const TileMap& tiles)
      : image(index / (tiles.down * tiles.across)),
        y(index / tiles.across % tiles.down),
        x(index % tiles.across),
        down(tiles.down),
        across(tiles.across) {}
  void next() {
    if (++x < across) return;
    x = 0;
    if (++y < down) return;
    y = 0;
    ++image;
  }
};

// N pixels of a row, with zeros for those outside the map.
template <int B, int N, bool Inside>
MDSM_INLINE void load_row(const TileMap& tiles, const float* plane, int64_t y, int64_t x0, Vector<B>* d) {
  const int64_t height = tiles.map.height, width = tiles.map.width, step = tiles.step;
  const float* from = plane + (y * width + x0) * B;
  for (int j = 0; j < N; ++j) {
    const int64_t x = x0 + j * step;
    d[j] =
        Inside || (y >= 0 && y < height && x >= 0 && x < width) ? load<B>(from + j * step * B) : Vector<B>{};
  }
}

// Rows, then columns, of N x N pixels into points x points; Line is one of the one-dimensional transforms.
template <class Points, int B, int N, bool Inside, class Line>
MDSM_INLINE void transform_tile(const TileMap& tiles, const float* plane, int64_t y0, int64_t x0,
                                const Line& line, float* to, int64_t point_stride) {
  constexpr int P = Points::kPoints;
  Vector<B> half[P][N];
  for (int i = 0; i < N; ++i) {
    Vector<B> d[N], row[P];
    load_row<B, N, Inside>(tiles, plane, y0 + i * tiles.step, x0, d);
    line(d, row);
    for (int p = 0; p < P; ++p) half[p][i] = row[p];
  }
  for (int p = 0; p < P; ++p) {
    Vector<B> column[P];
    line(half[p], column);
    for (int q = 0; q < P; ++q) store<B>(to + (q * P + p) * point_stride, column[q]);
  }
}

template <class Points, int B, int N, class Line>
MDSM_INLINE void transform_tiles(const TileMap& tiles, const float* map, TileRange range, Panels v,
                                 const Line& line) {
  const int64_t last = (N - 1) * tiles.step, planes = tiles.map.channels / B;
  const int64_t stride = tiles.map.stride(), plane_count = tiles.map.plane();
  for (int64_t c = 0; c < planes; ++c) {
    TileWalk at(range.first, tiles);
    float* to = v.data + c * v.panel_stride;
    for (int64_t t = 0; t < range.count; ++t, at.next(), to += B) {
      const float* plane = map + (at.image * stride + c) * plane_count;
      const int64_t y = tiles.step * 4 * at.y + tiles.offset_y, x = tiles.step * 4 * at.x + tiles.offset_x;
      if (y >= 0 && x >= 0 && y + last < tiles.map.height && x + last < tiles.map.width)
        transform_tile<Points, B, N, true>(tiles, plane, y, x, line, to, v.point_stride);
      else
        transform_tile<Points, B, N, false>(tiles, plane, y, x, line, to, v.point_stride);
    }
  }
}

template <class Points, int B>
void input_tiles(const TileMap& tiles, const float* map, TileRange range, Panels v) {
  transform_tiles<Points, B, Points::kPoints>(tiles, map, range, v,
                                              [](const Vector<B>* d, Vector<B>* o) { Points::input(d, o); });
}

template <class Points, int B>
void gradient_tiles(const TileMap& tiles, const float* map, TileRange range, Panels w) {
  transform_tiles<Points, B, 4>(tiles, map, range, w,
                                [](const Vector<B>* y, Vector<B>* o) { Points::gradient(y, o); });
}

template <class Points, int B, Epilogue::Op O>
void output_tiles(const TileMap& tiles, Panels m, TileRange range, const Epilogue& epilogue, float* map) {
  constexpr int P = Points::kPoints;
  const int64_t planes = tiles.map.channels / B;
  for (int64_t c = 0; c < planes; ++c) {
    const Vector<B> bias = epilogue.bias ? load<B>(epilogue.bias + c * B) : Vector<B>{};
    TileWalk at(range.first, tiles);
    for (int64_t t = 0; t < range.count; ++t, at.next()) {
      const float* from = m.data + c * m.panel_stride + t * B;
      Vector<B> half[4][P];
      for (int p = 0; p < P; ++p) {
        Vector<B> column[P], out[4];
        for (int q = 0; q < P; ++q) column[q] = load<B>(from + (q * P + p) * m.point_stride);
        Points::output(column, out);
        for (int i = 0; i < 4; ++i) half[i][p] = out[i];
      }
      const int64_t x = tiles.step * 4 * at.x + tiles.offset_x;
      const int64_t inside = (tiles.map.width - x + tiles.step - 1) / tiles.step;
      for (int i = 0; i < 4; ++i) {
        const int64_t y = tiles.step * (4 * at.y + i) + tiles.offset_y;
        if (y >= tiles.map.height) break;
        Vector<B> row[4];
        Points::output(half[i], row);
        const PixelRun run{at.image, c, y, x, tiles.step};
        if (inside >= 4)
          finish_pixels<B, O>(epilogue, bias, row, 4, tiles.map, run, map);
        else
          finish_pixels<B, O>(epilogue, bias, row, inside, tiles.map, run, map);
      }
    }
  }
}

template <class Points, int B>
void output_tiles_op(const TileMap& tiles, Panels m, TileRange range, const Epilogue& epilogue, float* map) {
  with_op(epilogue.op,
          [&](auto op) { output_tiles<Points, B, decltype(op)::kValue>(tiles, m, range, epilogue, map); });
}

// R rows x N panels of results in registers; `inner` of a at once, a value of a spread over a vector.
template <int B, int R, int N>
MDSM_INLINE void multiply_block(const float* a, int64_t a_panel, const float* b, int64_t b_panel,
                                int64_t inner, bool add, float* c, int64_t c_panel) {
  Vector<B> sum[R][N];
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) sum[r][n] = add ? load<B>(c + n * c_panel + r * B) : Vector<B>{};
  for (int64_t k = 0; k < inner; k += B) {
    for (int l = 0; l < B; ++l) {
      Vector<B> right[N];
      for (int n = 0; n < N; ++n) right[n] = load<B>(b + n * b_panel + (k + l) * B);
      for (int r = 0; r < R; ++r) {
        const float left = a[r * B + l];
        for (int n = 0; n < N; ++n) sum[r][n] += left * right[n];
      }
    }
    a += a_panel;
  }
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) store<B>(c + n * c_panel + r * B, sum[r][n]);
}

// The rows that are left over when a range is cut into pieces of R.
template <int B, int R, int N>
void multiply_rows(int64_t rows, const float* a, int64_t a_panel, const float* b, int64_t b_panel,
                   int64_t inner, bool add, float* c, int64_t c_panel) {
  for (; rows >= R; rows -= R, a += R * B, c += R * B)
    multiply_block<B, R, N>(a, a_panel, b, b_panel, inner, add, c, c_panel);
  if constexpr (R > 1) {
    if (rows > 0)
      multiply_rows<B, (R >= 4 ? R / 2 : R - 1), N>(rows, a, a_panel, b, b_panel, inner, add, c, c_panel);
  }
}

constexpr int64_t kInnerAtOnce = 256;  // so that the panels of weights stay in the first-level cache

template <int B>
void multiply(int64_t first, int64_t last, const ProductShape& shape, Panels v, Panels u, Panels m) {
  constexpr int R = RegisterTile<B>::kRows;
  for (int64_t p = first; p < last; ++p)
    for (int64_t k = 0; k < shape.inner; k += kInnerAtOnce) {
      const int64_t inner = shape.inner - k < kInnerAtOnce ? shape.inner - k : kInnerAtOnce;
      const float* a = v.data + p * v.point_stride + k / B * v.panel_stride;
      int64_t n = 0;
      for (; n + 2 <= shape.panels; n += 2)
        multiply_rows<B, R, 2>(shape.rows, a, v.panel_stride,
                               u.data + p * u.point_stride + n * u.panel_stride + k * B, u.panel_stride,
                               inner, shape.add || k > 0, m.data + p * m.point_stride + n * m.panel_stride,
                               m.panel_stride);
      if (n < shape.panels)
        multiply_rows<B, R, 1>(shape.rows, a, v.panel_stride,
                               u.data + p * u.point_stride + n * u.panel_stride + k * B, u.panel_stride,
                               inner, shape.add || k > 0, m.data + p * m.point_stride + n * m.panel_stride,
                               m.panel_stride);
    }
}

template <int B, int R, int N>
MDSM_INLINE void multiply_tiles_block(const ProductShape& shape, const float* a, const float* b,
                                      int64_t b_panel, float* c, int64_t c_panel) {
  Vector<B> sum[R][N];
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) sum[r][n] = shape.add ? load<B>(c + n * c_panel + r * B) : Vector<B>{};
  for (int64_t t = 0; t < shape.inner; ++t) {
    Vector<B> right[N];
    for (int n = 0; n < N; ++n) right[n] = load<B>(b + n * b_panel + t * B);
    for (int r = 0; r < R; ++r) {
      const float left = a[t * B + r];
      for (int n = 0; n < N; ++n) sum[r][n] += left * right[n];
    }
  }
  for (int r = 0; r < R; ++r)
    for (int n = 0; n < N; ++n) store<B>(c + n * c_panel + r * B, sum[r][n]);
}

template <int B, int N>
void multiply_tiles_panels(const ProductShape& shape, const float* a, int64_t a_panel, const float* b,
                           int64_t b_panel, float* c, int64_t c_panel) {
  constexpr int R = RegisterTile<B>::kTransposedRows;
  for (int64_t row = 0; row < shape.rows; row += R)
    multiply_tiles_block<B, R, N>(shape, a + row / B * a_panel + row % B, b, b_panel, c + row * B, c_panel);
}

template <int B>
void multiply_tiles(int64_t first, int64_t last, const ProductShape& shape, Panels v, Panels w, Panels u) {
  constexpr int N = RegisterTile<B>::kTransposedPanels;
  for (int64_t p = first; p < last; ++p) {
    const float* a = v.data + p * v.point_stride;
    const float* b = w.data + p * w.point_stride;
    float* c = u.data + p * u.point_stride;
    int64_t n = 0;
    // Not a single panel at the end, whose few sums would wait for each other.
    for (; n + N <= shape.panels && shape.panels - n != N + 1; n += N)
      multiply_tiles_panels<B, N>(shape, a, v.panel_stride, b + n * w.panel_stride, w.panel_stride,
                                  c + n * u.panel_stride, u.panel_stride);
    for (; n + 2 <= shape.panels; n += 2)
      multiply_tiles_panels<B, 2>(shape, a, v.panel_stride, b + n * w.panel_stride, w.panel_stride,
                                  c + n * u.panel_stride, u.panel_stride);
    for (; n < shape.panels; ++n)
      multiply_tiles_panels<B, 1>(shape, a, v.panel_stride, b + n * w.panel_stride, w.panel_stride,
                                  c + n * u.panel_stride, u.panel_stride);
  }
}

}  // namespace
}  // namespace mdsm::engine::native

#include "engine/native/winograd_weights_impl.h"

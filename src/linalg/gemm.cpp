// Blocks of both factors are copied into the order in which the tile kernel reads them, small enough for the
// caches; borders are filled with zeros, so that every value goes through the same kernel.
#include "linalg/gemm.h"

#include <algorithm>
#include <vector>

#include "core/threads.h"
#include "linalg/tile.h"

namespace mdsm::linalg {
namespace {

using linalg::Tile;

constexpr int64_t kDepth = 256, kRowBlock = 96, kColumnBlock = 512;

template <class T>
const Tile<T>& tile();
template <>
const Tile<float>& tile<float>() {
  return linalg::tiles().single;
}
template <>
const Tile<double>& tile<double>() {
  return linalg::tiles().dual;
}

// Strips of `width` lines (rows of a, columns of b), each stored as k groups of `width` values.
// across: distance of neighbouring lines, along: distance of neighbouring k.
template <class T>
void pack(const T* from, int64_t across, int64_t along, int64_t lines, int64_t k, int64_t width, T* to) {
  for (int64_t first = 0; first < lines; first += width, to += width * k) {
    const int64_t count = std::min(width, lines - first);
    const T* strip = from + first * across;
    if (count < width) std::fill_n(to, width * k, T(0));
    if (across == 1) {
      for (int64_t p = 0; p < k; ++p) std::copy_n(strip + p * along, count, to + p * width);
    } else {
      for (int64_t i = 0; i < count; ++i)
        for (int64_t p = 0; p < k; ++p) to[p * width + i] = strip[i * across + p * along];
    }
  }
}

template <class T>
void add_tile(const T* from, int64_t from_stride, int64_t rows, int64_t columns, T* to, int64_t to_stride,
              bool accumulate) {
  for (int64_t i = 0; i < rows; ++i, from += from_stride, to += to_stride)
    for (int64_t j = 0; j < columns; ++j) to[j] = accumulate ? to[j] + from[j] : from[j];
}

template <class T>
void multiply_any(int64_t m, int64_t n, int64_t k, const Factor<T>& a, const Factor<T>& b, T* c,
                  int64_t c_stride, bool accumulate) {
  const Tile<T>& kernel = tile<T>();
  const int64_t rows = kernel.rows, columns = kernel.columns;
  static thread_local std::vector<T> packed_a, packed_b;
  packed_a.resize(static_cast<size_t>((kRowBlock + rows) * kDepth));
  packed_b.resize(static_cast<size_t>((kColumnBlock + columns) * kDepth));
  alignas(64) T out[linalg::kMaxTile];
  const bool a_plain = a.op == Op::plain, b_plain = b.op == Op::plain;
  const int64_t a_across = a_plain ? a.stride : 1, a_along = a_plain ? 1 : a.stride;
  const int64_t b_across = b_plain ? 1 : b.stride, b_along = b_plain ? b.stride : 1;
  if (k == 0 && !accumulate)
    for (int64_t i = 0; i < m; ++i) std::fill_n(c + i * c_stride, n, T(0));
  for (int64_t column = 0; column < n; column += kColumnBlock)
    for (int64_t p = 0; p < k; p += kDepth) {
      const int64_t depth = std::min(kDepth, k - p), width = std::min(kColumnBlock, n - column);
      pack(b.data + column * b_across + p * b_along, b_across, b_along, width, depth, columns,
           packed_b.data());
      for (int64_t row = 0; row < m; row += kRowBlock) {
        const int64_t height = std::min(kRowBlock, m - row);
        pack(a.data + row * a_across + p * a_along, a_across, a_along, height, depth, rows, packed_a.data());
        for (int64_t j = 0; j < width; j += columns)
          for (int64_t i = 0; i < height; i += rows) {
            kernel.product(depth, packed_a.data() + i * depth, packed_b.data() + j * depth, out);
            add_tile(out, columns, std::min(rows, height - i), std::min(columns, width - j),
                     c + (row + i) * c_stride + column + j, c_stride, accumulate || p > 0);
          }
      }
    }
}

template <class T>
void parallel_any(int64_t m, int64_t n, int64_t k, const Factor<T>& a, const Factor<T>& b, T* c,
                  int64_t c_stride, bool accumulate) {
  // Every range copies b for itself: few and long ones. A row's bits do not depend on the others'.
  const int64_t grain =
      std::max({kRowBlock, (1 << 20) / std::max<int64_t>(1, n * k), m / (2 * thread_count())});
  parallel_for(m, grain, [&](int64_t begin, int64_t end) {
    Factor<T> part = a;
    part.data += a.op == Op::plain ? begin * a.stride : begin;
    multiply_any(end - begin, n, k, part, b, c + begin * c_stride, c_stride, accumulate);
  });
}

}  // namespace

void multiply(int64_t m, int64_t n, int64_t k, const Factor<float>& a, const Factor<float>& b, float* c,
              int64_t c_stride, bool accumulate) {
  multiply_any(m, n, k, a, b, c, c_stride, accumulate);
}
void multiply(int64_t m, int64_t n, int64_t k, const Factor<double>& a, const Factor<double>& b, double* c,
              int64_t c_stride, bool accumulate) {
  multiply_any(m, n, k, a, b, c, c_stride, accumulate);
}
void parallel_multiply(int64_t m, int64_t n, int64_t k, const Factor<float>& a, const Factor<float>& b,
                       float* c, int64_t c_stride, bool accumulate) {
  parallel_any(m, n, k, a, b, c, c_stride, accumulate);
}
void parallel_multiply(int64_t m, int64_t n, int64_t k, const Factor<double>& a, const Factor<double>& b,
                       double* c, int64_t c_stride, bool accumulate) {
  parallel_any(m, n, k, a, b, c, c_stride, accumulate);
}

}  // namespace mdsm::linalg

// Weights into and out of Winograd's transform; included once per instruction set by winograd_impl.h. Lanes
// are channels, so that every step is a vector operation.
namespace mdsm::engine::native {
namespace {

// G g G^T of T x T taps, stored at the points of one row of a panel.
template <class Points, int B, int T>
MDSM_INLINE void transform_taps(const Vector<B> (&g)[T][T], float* to, int64_t point_stride) {
  constexpr int P = Points::kPoints;
  Vector<B> half[T][P];
  for (int i = 0; i < T; ++i) Points::weights(g[i], half[i]);
  for (int p = 0; p < P; ++p) {
    Vector<B> column[T], out[P];
    for (int i = 0; i < T; ++i) column[i] = half[i][p];
    Points::weights(column, out);
    for (int q = 0; q < P; ++q) store<B>(to + (q * P + p) * point_stride, out[q]);
  }
}

template <class Points, int B, int T>
MDSM_INLINE void untransform_taps(const float* from, int64_t point_stride, Vector<B> (&g)[T][T]) {
  constexpr int P = Points::kPoints;
  Vector<B> half[T][P];
  for (int p = 0; p < P; ++p) {
    Vector<B> column[P], out[T];
    for (int q = 0; q < P; ++q) column[q] = load<B>(from + (q * P + p) * point_stride);
    Points::weights_transposed(column, out);
    for (int i = 0; i < T; ++i) half[i][p] = out[i];
  }
  for (int i = 0; i < T; ++i) Points::weights_transposed(half[i], g[i]);
}

// 3x3 taps spread by 2x2 mean pooling to 4x4, and the transpose of that.
template <int B>
MDSM_INLINE void fold_taps(const Vector<B> (&g)[3][3], Vector<B> (&w)[4][4]) {
  for (int i = 0; i < 4; ++i)
    for (int j = 0; j < 4; ++j) {
      Vector<B> sum = {};
      for (int a = i > 0 ? i - 1 : 0; a <= i && a < 3; ++a)
        for (int b = j > 0 ? j - 1 : 0; b <= j && b < 3; ++b) sum += g[a][b];
      w[i][j] = 0.25f * sum;
    }
}
template <int B>
MDSM_INLINE void unfold_taps(const Vector<B> (&w)[4][4], Vector<B> (&g)[3][3]) {
  for (int i = 0; i < 3; ++i)
    for (int j = 0; j < 3; ++j) g[i][j] = 0.25f * ((w[i][j] + w[i][j + 1]) + (w[i + 1][j] + w[i + 1][j + 1]));
}

// The taps of `lanes` kernels that lie `stride` floats apart; the other lanes are zero.
template <int B>
MDSM_INLINE void gather_taps(const float* plain, int64_t stride, int64_t lanes, Vector<B> (&g)[3][3]) {
  alignas(64) float taps[9][B] = {};
  for (int64_t l = 0; l < lanes; ++l)
    for (int t = 0; t < 9; ++t) taps[t][l] = plain[l * stride + t];
  for (int t = 0; t < 9; ++t) g[t / 3][t % 3] = load<B>(taps[t]);
}

inline int64_t lanes_of(int64_t panel, int64_t block, int64_t channels) {
  return channels - panel * block < block ? channels - panel * block : block;
}

template <int B>
void weights_block(const PlainWeights& shape, const float* plain, const WeightRange& range, Panels u) {
  using V = Vector<B>;
  const int64_t padded = (shape.in + B - 1) / B * B, end = range.first_row + range.rows;
  for (int64_t p = 0; p < range.panels; ++p)
    for (int64_t i = range.first_row; i < end && i < shape.in; ++i) {
      const int64_t panel = range.first_panel + p;
      V g[3][3];
      gather_taps<B>(plain + (panel * B * shape.in + i) * 9, shape.in * 9, lanes_of(panel, B, shape.out), g);
      float* to = u.data + p * u.panel_stride + (i - range.first_row) * B;
      if (!shape.pooled) {
        transform_taps<Points6<V>, B, 3>(g, to, u.point_stride);
        continue;
      }
      V w[4][4];
      fold_taps<B>(g, w);
      for (int py = 0; py < 2; ++py)
        for (int px = 0; px < 2; ++px) {
          const V phase[2][2] = {{w[py][px], w[py][px + 2]}, {w[py + 2][px], w[py + 2][px + 2]}};
          transform_taps<Points5<V>, B, 2>(phase, to + (py * 2 + px) * padded * B, u.point_stride);
        }
    }
}

template <int B>
void weights_back_block(const PlainWeights& shape, const float* plain, int py, int px,
                        const WeightRange& range, Panels u) {
  using V = Vector<B>;
  const int64_t end = range.first_row + range.rows;
  for (int64_t p = 0; p < range.panels; ++p)
    for (int64_t o = range.first_row; o < end && o < shape.out; ++o) {
      const int64_t panel = range.first_panel + p;
      V g[3][3];
      gather_taps<B>(plain + (o * shape.in + panel * B) * 9, 9, lanes_of(panel, B, shape.in), g);
      float* to = u.data + p * u.panel_stride + (o - range.first_row) * B;
      if (!shape.pooled) {
        const V turned[3][3] = {
            {g[2][2], g[2][1], g[2][0]}, {g[1][2], g[1][1], g[1][0]}, {g[0][2], g[0][1], g[0][0]}};
        transform_taps<Points6<V>, B, 3>(turned, to, u.point_stride);
        continue;
      }
      V w[4][4];
      fold_taps<B>(g, w);
      const V phase[2][2] = {{w[3 - py][3 - px], w[3 - py][1 - px]}, {w[1 - py][3 - px], w[1 - py][1 - px]}};
      transform_taps<Points5<V>, B, 2>(phase, to, u.point_stride);
    }
}

template <int B>
void add_weights_gradient_block(const PlainWeights& shape, Panels u, int64_t first, int64_t last,
                                float* plain) {
  using V = Vector<B>;
  const int64_t rows = (shape.in + B - 1) / B * B;
  for (int64_t panel = first; panel < last; ++panel)
    for (int64_t i = 0; i < shape.in; ++i) {
      const float* from = u.data + panel * u.panel_stride + i * B;
      V g[3][3];
      if (!shape.pooled) {
        untransform_taps<Points6<V>, B, 3>(from, u.point_stride, g);
      } else {
        V w[4][4], phase[2][2];
        for (int py = 0; py < 2; ++py)
          for (int px = 0; px < 2; ++px) {
            untransform_taps<Points5<V>, B, 2>(from + (py * 2 + px) * rows * B, u.point_stride, phase);
            for (int a = 0; a < 2; ++a)
              for (int b = 0; b < 2; ++b) w[2 * a + py][2 * b + px] = phase[a][b];
          }
        unfold_taps<B>(w, g);
      }
      alignas(64) float taps[9][B];
      for (int t = 0; t < 9; ++t) store<B>(taps[t], g[t / 3][t % 3]);
      float* to = plain + (panel * B * shape.in + i) * 9;
      for (int64_t l = 0; l < lanes_of(panel, B, shape.out); ++l)
        for (int t = 0; t < 9; ++t) to[l * shape.in * 9 + t] += taps[t][l];
    }
}

// From the block size and number of points at run time to those of the compiler.
template <template <class, int> class Body, class... Arguments>
void dispatch(int points, int64_t block, const Arguments&... arguments) {
  with_block(block, [&](auto constant) {
    constexpr int B = decltype(constant)::kValue;
    points == 6 ? Body<Points6<Vector<B>>, B>::run(arguments...)
                : Body<Points5<Vector<B>>, B>::run(arguments...);
  });
}

template <class Points, int B>
struct InputBody {
  static void run(const TileMap& tiles, const float* map, TileRange range, Panels v) {
    input_tiles<Points, B>(tiles, map, range, v);
  }
};
template <class Points, int B>
struct GradientBody {
  static void run(const TileMap& tiles, const float* map, TileRange range, Panels w) {
    gradient_tiles<Points, B>(tiles, map, range, w);
  }
};
template <class Points, int B>
struct OutputBody {
  static void run(const TileMap& tiles, Panels m, TileRange range, const Epilogue& epilogue, float* map) {
    output_tiles_op<Points, B>(tiles, m, range, epilogue, map);
  }
};

void winograd_input(int points, const TileMap& tiles, const float* map, TileRange range, Panels v) {
  dispatch<InputBody>(points, tiles.map.block, tiles, map, range, v);
}
void winograd_gradient(int points, const TileMap& tiles, const float* map, TileRange range, Panels w) {
  dispatch<GradientBody>(points, tiles.map.block, tiles, map, range, w);
}
void winograd_output(int points, const TileMap& tiles, Panels m, TileRange range, const Epilogue& epilogue,
                     float* map) {
  dispatch<OutputBody>(points, tiles.map.block, tiles, m, range, epilogue, map);
}
void winograd_multiply(int64_t first, int64_t last, const ProductShape& shape, Panels v, Panels u, Panels m) {
  with_block(shape.block,
             [&](auto constant) { multiply<decltype(constant)::kValue>(first, last, shape, v, u, m); });
}
void winograd_multiply_tiles(int64_t first, int64_t last, const ProductShape& shape, Panels v, Panels w,
                             Panels u) {
  with_block(shape.block,
             [&](auto constant) { multiply_tiles<decltype(constant)::kValue>(first, last, shape, v, w, u); });
}
void winograd_weights(const PlainWeights& shape, const float* plain, const WeightRange& range, Panels u) {
  with_block(shape.block,
             [&](auto constant) { weights_block<decltype(constant)::kValue>(shape, plain, range, u); });
}
void winograd_weights_back(const PlainWeights& shape, const float* plain, int py, int px,
                           const WeightRange& range, Panels u) {
  with_block(shape.block, [&](auto constant) {
    weights_back_block<decltype(constant)::kValue>(shape, plain, py, px, range, u);
  });
}
void winograd_add_weights_gradient(const PlainWeights& shape, Panels u, int64_t first, int64_t last,
                                   float* plain) {
  with_block(shape.block, [&](auto constant) {
    add_weights_gradient_block<decltype(constant)::kValue>(shape, u, first, last, plain);
  });
}

constexpr WinogradKernels kWinograd = {
    winograd_input,          winograd_gradient, winograd_output,       winograd_multiply,
    winograd_multiply_tiles, winograd_weights,  winograd_weights_back, winograd_add_weights_gradient};

}  // namespace
}  // namespace mdsm::engine::native

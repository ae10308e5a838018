// The bodies of the kernels, included once per instruction set with MDSM_KERNEL_ISA set. Plain loops that the
// compiler vectorises; no templates or inline functions of other headers, whose copies compiled for a newer
// CPU could be the ones the linker keeps for everybody.
#include <stdint.h>

#include "engine/native/kernels.h"
#include "engine/native/tile_impl.h"
#include "engine/native/winograd_impl.h"

namespace mdsm::engine::native {
namespace {

// Where a plane of a map, and of one of half its size, begins.
struct PlanePlace {
  int64_t map, half;
};
MDSM_INLINE PlanePlace place_of(const MapShape& shape, int64_t half_planes, int64_t plane) {
  const int64_t blocks = shape.blocks(), image = plane / blocks, block = plane % blocks;
  return {(image * shape.stride() + block) * shape.plane(),
          (image * (half_planes > 0 ? half_planes : blocks) + block) * (shape.plane() / 4)};
}

template <int B, class Value>
void pool_block(const MapShape& shape, int64_t first, int64_t last, const Value* map, int64_t half_planes,
                Value* half, bool sums) {
  const int64_t row = shape.width * B, columns = shape.width / 2;
  const float scale = sums ? 1.0f : 0.25f;
  for (int64_t p = first; p < last; ++p) {
    const PlanePlace place = place_of(shape, half_planes, p);
    for (int64_t y = 0; y < shape.height / 2; ++y) {
      const Value* top = map + place.map + 2 * y * row;
      Value* to = half + place.half + y * columns * B;
      for (int64_t x = 0; x < columns; ++x)
        store<B>(to + x * B, scale * ((load<B>(top + 2 * x * B) + load<B>(top + 2 * x * B + B)) +
                                      (load<B>(top + row + 2 * x * B) + load<B>(top + row + 2 * x * B + B))));
    }
  }
}

template <int B, class Value>
void upsample_block(const MapShape& shape, int64_t first, int64_t last, const Value* half,
                    int64_t half_planes, Value* map) {
  for (int64_t p = first; p < last; ++p) {
    const PlanePlace place = place_of(shape, half_planes, p);
    for (int64_t y = 0; y < shape.height; ++y) {
      const Value* from = half + place.half + y / 2 * (shape.width / 2) * B;
      Value* to = map + place.map + y * shape.width * B;
      for (int64_t x = 0; x < shape.width; ++x) store<B>(to + x * B, load<B>(from + x / 2 * B));
    }
  }
}

template <int B, class Value>
void gather_block(const MapShape& shape, int64_t first, int64_t last, MapInOf<Value> in, bool unpooled,
                  bool add, Value* map) {
  const int64_t blocks = shape.blocks(), in_planes = in.planes > 0 ? in.planes : blocks;
  const int64_t in_width = unpooled ? shape.width / 2 : shape.width,
                in_plane = unpooled ? shape.plane() / 4 : shape.plane();
  for (int64_t p = first; p < last; ++p) {
    const Value* from = in.data + (p / blocks * in_planes + p % blocks) * in_plane;
    Value* to = map + (p / blocks * shape.stride() + p % blocks) * shape.plane();
    for (int64_t y = 0; y < shape.height; ++y)
      for (int64_t x = 0; x < shape.width; ++x) {
        Value* at = to + (y * shape.width + x) * B;
        Vector<B> value = unpooled ? 0.25f * load<B>(from + (y / 2 * in_width + x / 2) * B)
                                   : load<B>(from + (y * in_width + x) * B);
        if (add) value += load<B>(at);
        store<B>(at, value);
      }
  }
}

template <int B, class Value>
void plane_sum_block(const Value* in, float* sum, int64_t pixels) {
  Vector<B> total = {};
  for (int64_t p = 0; p < pixels; ++p) total += load<B>(in + p * B);
  store<B>(sum, total);
}

// The taps of a 3x3 kernel that stay inside the image at column x.
struct TapRange {
  int64_t first, last;
};
inline TapRange taps(int64_t at, int64_t size) { return {at == 0 ? 1 : 0, at == size - 1 ? 2 : 3}; }

// kAtOnce pixels of a row share each load of weights. Of the last few of a row, fewer count; what is read
// beyond the images is never used.
template <int B, class Value>
void input_forward_block(const InputConvolution& conv, const float* x, int64_t image,
                         const EpilogueOf<Value>& epilogue, Value* map) {
  constexpr int kAtOnce = 4;
  const int64_t row_step = conv.width + 2, plane = row_step * (conv.height + 2);
  const MapShape shape{conv.out, conv.height, conv.width, B};
  for (int64_t block = 0; block < conv.out / B; ++block) {
    const Vector<B> start = epilogue.bias ? load<B>(epilogue.bias + block * B) : Vector<B>{}, none = {};
    for (int64_t row = 0; row < conv.height; ++row)
      for (int64_t column = 0; column < conv.width; column += kAtOnce) {
        Vector<B> total[kAtOnce];
        for (int k = 0; k < kAtOnce; ++k) total[k] = start;
        for (int64_t c = 0; c < conv.channels; ++c) {
          const float* w = conv.weights + (block * conv.channels + c) * 9 * B;
          const float* from = x + c * plane + row * row_step + column;
          for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) {
              const Vector<B> tap = load<B>(w + (i * 3 + j) * B);
              for (int k = 0; k < kAtOnce; ++k) total[k] += from[i * row_step + j + k] * tap;
            }
        }
        const int64_t left = conv.width - column;
        finish_pixels<B, EpilogueOp::none>(epilogue, none, total, left < kAtOnce ? left : kAtOnce, shape,
                                           {image, block, row, column, 1}, map);
      }
  }
}

template <int B, class Value>
void input_backward_block(const InputConvolution& conv, const Value* dy, float* dx) {
  const int64_t plane = conv.height * conv.width;
  for (int64_t c = 0; c < conv.channels; ++c)
    for (int64_t row = 0; row < conv.height; ++row) {
      const TapRange rows = taps(row, conv.height);
      for (int64_t column = 0; column < conv.width; ++column) {
        const TapRange columns = taps(column, conv.width);
        Vector<B> total = {};
        for (int64_t block = 0; block < conv.out / B; ++block) {
          const float* w = conv.weights + (block * conv.channels + c) * 9 * B;
          const Value* from = dy + block * plane * B;
          // dx[row] gets dy[row + i - 1] through the flipped tap 2 - i.
          for (int64_t i = rows.first; i < rows.last; ++i)
            for (int64_t j = columns.first; j < columns.last; ++j)
              total += load<B>(from + ((row + i - 1) * conv.width + column + j - 1) * B) *
                       load<B>(w + ((2 - i) * 3 + 2 - j) * B);
        }
        float sum = 0;
        for (int b = 0; b < B; ++b) sum += total[b];
        dx[c * plane + row * conv.width + column] = sum;
      }
    }
}

template <int B, class Value>
void input_weights_block(const InputConvolution& conv, const float* x, const Value* dy, float* dw) {
  const int64_t row_step = conv.width + 2, plane = row_step * (conv.height + 2);
  for (int64_t block = 0; block < conv.out / B; ++block)
    for (int64_t c = 0; c < conv.channels; ++c) {
      Vector<B> total[9] = {};
      for (int64_t row = 0; row < conv.height; ++row) {
        const float* from = x + c * plane + row * row_step;
        const Value* d = dy + (block * conv.height + row) * conv.width * B;
        for (int64_t column = 0; column < conv.width; ++column) {
          const Vector<B> value = load<B>(d + column * B);
          for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) total[i * 3 + j] += from[i * row_step + column + j] * value;
        }
      }
      float* to = dw + (block * conv.channels + c) * 9 * B;
      for (int t = 0; t < 9; ++t) store<B>(to + t * B, load<B>(to + t * B) + total[t]);
    }
}

// A kernel for the block size that a shape has.
#define MDSM_WITH_BLOCK(block, call)              \
  with_block(block, [&](auto constant) {          \
    constexpr int B = decltype(constant)::kValue; \
    call;                                         \
  })

template <class Value>
struct MapFunctions {
  static void finish(const EpilogueOf<Value>& epilogue, const MapShape& shape, int64_t first, int64_t last,
                     Value* map) {
    MDSM_WITH_BLOCK(shape.block, finish_block<B>(epilogue, shape, first, last, map));
  }
  static void pool(const MapShape& shape, int64_t first, int64_t last, const Value* map, int64_t half_planes,
                   Value* half, bool sums) {
    MDSM_WITH_BLOCK(shape.block, pool_block<B>(shape, first, last, map, half_planes, half, sums));
  }
  static void upsample(const MapShape& shape, int64_t first, int64_t last, const Value* half,
                       int64_t half_planes, Value* map) {
    MDSM_WITH_BLOCK(shape.block, upsample_block<B>(shape, first, last, half, half_planes, map));
  }
  static void gather(const MapShape& shape, int64_t first, int64_t last, MapInOf<Value> in, bool unpooled,
                     bool add, Value* map) {
    MDSM_WITH_BLOCK(shape.block, gather_block<B>(shape, first, last, in, unpooled, add, map));
  }
  static void plane_sum(const Value* in, float* sum, int64_t pixels, int64_t block) {
    MDSM_WITH_BLOCK(block, plane_sum_block<B>(in, sum, pixels));
  }
  static void input_forward(const InputConvolution& conv, const float* x, int64_t image,
                            const EpilogueOf<Value>& epilogue, Value* map) {
    MDSM_WITH_BLOCK(conv.block, input_forward_block<B>(conv, x, image, epilogue, map));
  }
  static void input_backward(const InputConvolution& conv, const Value* dy, float* dx) {
    MDSM_WITH_BLOCK(conv.block, input_backward_block<B>(conv, dy, dx));
  }
  static void input_weights(const InputConvolution& conv, const float* x, const Value* dy, float* dw) {
    MDSM_WITH_BLOCK(conv.block, input_weights_block<B>(conv, x, dy, dw));
  }
  static constexpr MapKernels<Value> kTable = {finish,    pool,          upsample,       gather,
                                               plane_sum, input_forward, input_backward, input_weights};
};

void finish_rows(const Epilogue& epilogue, const MapShape& shape, int64_t image, int64_t first, int64_t last,
                 Panels raw, float* map) {
  MDSM_WITH_BLOCK(shape.block,
                  finish_rows_block<B>(epilogue, shape, image, first, last, raw.data, raw.panel_stride, map));
}

void adam(const AdamNumbers& a, const float* gradient, float* weights, float* m, float* v, float* ema,
          int64_t count) {
  const float keep1 = 1.0f - a.beta1, keep2 = 1.0f - a.beta2, keep_ema = 1.0f - a.ema;
#if defined(__clang__)  // the arrays do not overlap
#pragma clang loop vectorize(assume_safety)
#else
#pragma GCC ivdep
#endif
  for (int64_t i = 0; i < count; ++i) {
    const float g = gradient[i] * a.gradient_scale;
    m[i] = a.beta1 * m[i] + keep1 * g;
    v[i] = a.beta2 * v[i] + keep2 * g * g;
    weights[i] -= a.lr * (m[i] * a.correction1) / (__builtin_sqrtf(v[i] * a.correction2) + a.epsilon);
    ema[i] = a.ema * ema[i] + keep_ema * weights[i];
  }
}

double sum_of_squares(const float* x, int64_t count) {
  double lanes[8] = {};
  int64_t i = 0;
  for (; i + 8 <= count; i += 8)
    for (int b = 0; b < 8; ++b) lanes[b] += static_cast<double>(x[i + b]) * x[i + b];
  double total = 0;
  for (int b = 0; b < 8; ++b) total += lanes[b];
  for (; i < count; ++i) total += static_cast<double>(x[i]) * x[i];
  return total;
}

void widen(const Bfloat16* from, float* to, int64_t count) {
  for (int64_t i = 0; i < count; i += 8) store<8>(to + i, load<8>(from + i));
}
void narrow(const float* from, Bfloat16* to, int64_t count) {
  for (int64_t i = 0; i < count; i += 8) store<8>(to + i, load<8>(from + i));
}

}  // namespace

extern const Kernels MDSM_KERNEL_TABLE;
const Kernels MDSM_KERNEL_TABLE = {MDSM_KERNEL_ISA,
                                   kWidestBlock,
                                   MapFunctions<float>::kTable,
                                   MapFunctions<Bfloat16>::kTable,
                                   finish_rows,
                                   adam,
                                   sum_of_squares,
                                   widen,
                                   narrow,
                                   &kWinograd,
                                   &kEmulatedTiles,
                                   kVectorTiles,
                                   kMatrixTiles};

}  // namespace mdsm::engine::native

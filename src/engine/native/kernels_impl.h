// The bodies of the kernels, included once per instruction set with MDSM_KERNEL_ISA set. Plain loops that the
// compiler vectorises; no templates or inline functions of other headers, whose copies compiled for a newer
// CPU could be the ones the linker keeps for everybody.
#include <stdint.h>

#include "engine/native/kernels.h"
#include "engine/native/winograd_impl.h"

namespace mdsm::engine::native {
namespace {

template <int B>
void pool_block(const float* in, float* out, int64_t planes, int64_t size) {
  const int64_t half = size / 2, row = size * B;
  for (int64_t p = 0; p < planes; ++p)
    for (int64_t y = 0; y < half; ++y) {
      const float* top = in + (p * size + 2 * y) * row;
      float* to = out + (p * half + y) * half * B;
      for (int64_t x = 0; x < half; ++x)
        for (int b = 0; b < B; ++b)
          to[x * B + b] = 0.25f * ((top[2 * x * B + b] + top[2 * x * B + B + b]) +
                                   (top[row + 2 * x * B + b] + top[row + 2 * x * B + B + b]));
    }
}

template <int B>
void plane_sum_block(const float* in, float* sum, int64_t pixels) {
  float total[B] = {};
  for (int64_t p = 0; p < pixels; ++p)
    for (int b = 0; b < B; ++b) total[b] += in[p * B + b];
  for (int b = 0; b < B; ++b) sum[b] = total[b];
}

// The taps of a 3x3 kernel that stay inside the image at column x.
struct TapRange {
  int64_t first, last;
};
inline TapRange taps(int64_t at, int64_t size) { return {at == 0 ? 1 : 0, at == size - 1 ? 2 : 3}; }

// kAtOnce pixels of a row share each load of weights.
template <int B>
void input_forward_block(const InputConvolution& conv, const float* x, int64_t image,
                         const Epilogue& epilogue, float* map) {
  constexpr int kAtOnce = 4;
  const int64_t size = conv.size, row_step = size + 2, plane = row_step * row_step;
  for (int64_t block = 0; block < conv.out / B; ++block) {
    const Vector<B> start = epilogue.bias ? load<B>(epilogue.bias + block * B) : Vector<B>{}, none = {};
    for (int64_t row = 0; row < size; ++row)
      for (int64_t column = 0; column < size; column += kAtOnce) {
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
        finish_pixels<B, Epilogue::Op::none>(epilogue, none, total, kAtOnce,
                                             {image * (conv.out / B) + block, size, row, column, 1}, map);
      }
  }
}

template <int B>
void input_backward_block(const InputConvolution& conv, const float* dy, float* dx) {
  const int64_t size = conv.size, plane = size * size;
  for (int64_t c = 0; c < conv.channels; ++c)
    for (int64_t row = 0; row < size; ++row) {
      const TapRange rows = taps(row, size);
      for (int64_t column = 0; column < size; ++column) {
        const TapRange columns = taps(column, size);
        float total[B] = {};
        for (int64_t block = 0; block < conv.out / B; ++block) {
          const float* w = conv.weights + (block * conv.channels + c) * 9 * B;
          const float* from = dy + block * plane * B;
          // dx[row] gets dy[row + i - 1] through the flipped tap 2 - i.
          for (int64_t i = rows.first; i < rows.last; ++i)
            for (int64_t j = columns.first; j < columns.last; ++j) {
              const float* d = from + ((row + i - 1) * size + column + j - 1) * B;
              const float* tap = w + ((2 - i) * 3 + 2 - j) * B;
              for (int b = 0; b < B; ++b) total[b] += d[b] * tap[b];
            }
        }
        float sum = 0;
        for (int b = 0; b < B; ++b) sum += total[b];
        dx[c * plane + row * size + column] = sum;
      }
    }
}

template <int B>
void input_weights_block(const InputConvolution& conv, const float* x, const float* dy, float* dw) {
  const int64_t size = conv.size, row_step = size + 2, plane = row_step * row_step;
  for (int64_t block = 0; block < conv.out / B; ++block)
    for (int64_t c = 0; c < conv.channels; ++c) {
      Vector<B> total[9] = {};
      for (int64_t row = 0; row < size; ++row) {
        const float* from = x + c * plane + row * row_step;
        const float* d = dy + (block * size + row) * size * B;
        for (int64_t column = 0; column < size; ++column) {
          const Vector<B> value = load<B>(d + column * B);
          for (int i = 0; i < 3; ++i)
            for (int j = 0; j < 3; ++j) total[i * 3 + j] += from[i * row_step + column + j] * value;
        }
      }
      float* to = dw + (block * conv.channels + c) * 9 * B;
      for (int t = 0; t < 9; ++t) store<B>(to + t * B, load<B>(to + t * B) + total[t]);
    }
}

void pool(const float* in, float* out, int64_t planes, int64_t size, int64_t block) {
  with_block(block, [&](auto constant) { pool_block<decltype(constant)::kValue>(in, out, planes, size); });
}
void finish(const Epilogue& epilogue, const MapShape& shape, int64_t first, int64_t last, float* map) {
  with_block(shape.block, [&](auto constant) {
    finish_block<decltype(constant)::kValue>(epilogue, shape, first, last, map);
  });
}
void plane_sum(const float* in, float* sum, int64_t pixels, int64_t block) {
  with_block(block, [&](auto constant) { plane_sum_block<decltype(constant)::kValue>(in, sum, pixels); });
}
void input_forward(const InputConvolution& conv, const float* x, int64_t image, const Epilogue& epilogue,
                   float* map) {
  with_block(conv.block, [&](auto constant) {
    constexpr int B = decltype(constant)::kValue;
    input_forward_block<B>(conv, x, image, epilogue, map);
  });
}
void input_backward(const InputConvolution& conv, const float* dy, float* dx) {
  with_block(conv.block,
             [&](auto constant) { input_backward_block<decltype(constant)::kValue>(conv, dy, dx); });
}
void input_weights(const InputConvolution& conv, const float* x, const float* dy, float* dw) {
  with_block(conv.block,
             [&](auto constant) { input_weights_block<decltype(constant)::kValue>(conv, x, dy, dw); });
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

}  // namespace

extern const Kernels MDSM_KERNEL_TABLE;
const Kernels MDSM_KERNEL_TABLE = {MDSM_KERNEL_ISA, kWidestBlock,   finish,        pool, plane_sum,
                                   input_forward,   input_backward, input_weights, adam, sum_of_squares,
                                   &kWinograd};

}  // namespace mdsm::engine::native

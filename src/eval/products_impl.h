// The kernel itself, included once per instruction set with MDSM_PRODUCTS naming the function.
#include "eval/products.h"

namespace mdsm {

// The compiler's vectors: 8 floats are one register with AVX2 and two without.
using Lanes = float __attribute__((vector_size(32), aligned(4)));

template <int64_t kCount>
static void products_of(const float* rows, const float* panel, int64_t length, float* out) {
  Lanes low[kCount] = {}, high[kCount] = {};
  for (int64_t j = 0; j < length; ++j) {
    const Lanes a = *reinterpret_cast<const Lanes*>(panel + j * kPanel);
    const Lanes b = *reinterpret_cast<const Lanes*>(panel + j * kPanel + 8);
    for (int64_t i = 0; i < kCount; ++i) {
      const float value = rows[i * length + j];
      low[i] += value * a;
      high[i] += value * b;
    }
  }
  for (int64_t i = 0; i < kCount; ++i) {
    *reinterpret_cast<Lanes*>(out + i * kPanel) = low[i];
    *reinterpret_cast<Lanes*>(out + i * kPanel + 8) = high[i];
  }
}

void MDSM_PRODUCTS(const float* rows, int64_t count, const float* panel, int64_t length, float* out) {
  if (count == kRowsAtOnce) return products_of<kRowsAtOnce>(rows, panel, length, out);
  for (int64_t i = 0; i < count; ++i) products_of<1>(rows + i * length, panel, length, out + i * kPanel);
}

}  // namespace mdsm

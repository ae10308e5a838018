#include "core/tensor.h"

#include <algorithm>
#include <bit>
#include <cstdlib>

#ifdef __linux__
#include <sys/mman.h>
#endif

#include "core/error.h"

namespace mdsm {

std::string Shape::text() const { return fmt::format("{}x{}x{}x{}", n, c, h, w); }

FloatBuffer::FloatBuffer(size_t count) : size_(count) {
  if (count == 0) return;
  // Large buffers are asked for in huge pages where the system gives them: fewer misses in the address cache.
  constexpr size_t kHugePage = size_t{2} << 20;
  const size_t alignment = count * sizeof(float) >= 2 * kHugePage ? kHugePage : 64;
  const size_t bytes = (count * sizeof(float) + alignment - 1) / alignment * alignment;
  data_.reset(static_cast<float*>(std::aligned_alloc(alignment, bytes)));
  if (!data_)
    fail("use a smaller batch, --micro-batch or a narrower network", "out of memory: {:.2f} GiB asked for",
         static_cast<double>(bytes) / (1u << 30));
#ifdef __linux__
  if (alignment == kHugePage) madvise(data_.get(), bytes, MADV_HUGEPAGE);  // a wish; refused is fine
#endif
}

void FloatBuffer::Free::operator()(float* p) const { std::free(p); }

Tensor::Tensor(Shape shape, float fill) : shape_(shape), buffer_(static_cast<size_t>(shape.count())) {
  std::fill_n(buffer_.data(), buffer_.size(), fill);
}

int64_t find_non_finite(std::span<const float> values) {
  // On the bits, so that it keeps its meaning under any floating-point flags.
  constexpr uint32_t kExponent = 0x7f800000u;
  const auto it = std::find_if(values.begin(), values.end(),
                               [](float v) { return (std::bit_cast<uint32_t>(v) & kExponent) == kExponent; });
  return it == values.end() ? -1 : it - values.begin();
}

}  // namespace mdsm

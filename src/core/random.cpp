#include "core/random.h"

#include <Random123/philox.h>

#include <cmath>
#include <numeric>
#include <utility>

namespace mdsm {

RandomStream::RandomStream(uint64_t seed, Purpose purpose, uint64_t index)
    : key_{static_cast<uint32_t>(seed), static_cast<uint32_t>(seed >> 32)},
      purpose_(static_cast<uint32_t>(purpose)),
      index_(index) {}

void RandomStream::refill() {
  // Counter: 32 bits of position, 8 bits of purpose in the top of the second word beside 24 more of position,
  // 64 bits of stream index. 2^56 blocks a stream.
  const r123::Philox4x32::ctr_type counter = {
      {static_cast<uint32_t>(position_), static_cast<uint32_t>(position_ >> 32) | (purpose_ << 24),
       static_cast<uint32_t>(index_), static_cast<uint32_t>(index_ >> 32)}};
  const auto block = r123::Philox4x32()(counter, {{key_[0], key_[1]}});
  for (int i = 0; i < 4; ++i) block_[i] = block[i];
  ++position_;
  used_ = 0;
}

uint32_t RandomStream::bits() {
  if (used_ == 4) refill();
  return block_[used_++];
}

double RandomStream::uniform() {
  const uint64_t high = bits() >> 5, low = bits() >> 6;
  return static_cast<double>((high << 26) | low) * 0x1p-53;
}

uint64_t RandomStream::below(uint64_t n) {
  const uint64_t limit =
      n * (UINT64_MAX / n);  // reject the ragged end, so that every value is equally likely
  for (;;) {
    const uint64_t high = bits();
    const uint64_t value = (high << 32) | bits();
    if (value < limit) return value % n;
  }
}

void RandomStream::fill_normal(std::span<float> out) {
  used_ = 4;
  for (size_t i = 0; i < out.size(); i += 4) {
    refill();
    for (size_t pair = 0; pair < 4 && i + pair < out.size(); pair += 2) {
      // Box-Muller; the first uniform lies in (0, 1], so that its logarithm is finite.
      const float u = (static_cast<float>(block_[pair] >> 8) + 1.0f) * 0x1p-24f;
      const float v = static_cast<float>(block_[pair + 1] >> 8) * 0x1p-24f;
      const float radius = std::sqrt(-2.0f * std::log(u)), angle = 6.28318530717958648f * v;
      out[i + pair] = radius * std::cos(angle);
      if (i + pair + 1 < out.size()) out[i + pair + 1] = radius * std::sin(angle);
    }
  }
  used_ = 4;
}

void RandomStream::fill_uniform(std::span<float> out, float low, float high) {
  for (float& value : out) value = low + (high - low) * static_cast<float>(uniform());
}

std::vector<uint32_t> permutation(RandomStream stream, uint32_t n) {
  std::vector<uint32_t> order(n);
  std::iota(order.begin(), order.end(), 0u);
  for (uint32_t i = n; i > 1; --i) std::swap(order[i - 1], order[stream.below(i)]);
  return order;
}

}  // namespace mdsm

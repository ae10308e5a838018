#include "core/random.h"

#include <Random123/philox.h>

#include <algorithm>
#include <bit>
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

namespace {

// Normals are made a chunk at a time, in loops without branches or library calls that the compiler turns into
// vector code: Langevin steps draw one per pixel, and must cost next to nothing beside the network.
constexpr size_t kPairs = 32, kChunk = 2 * kPairs, kChunkBlocks = kChunk / 4;

// ln u for normal u > 0: u = m 2^e with m in [sqrt 1/2, sqrt 2), and ln m = 2 atanh((m - 1)/(m + 1)) as a
// series.
inline float logarithm(float u) {
  const uint32_t shifted = std::bit_cast<uint32_t>(u) - 0x3f3504f3u;  // the bits of sqrt 1/2
  const float e = static_cast<float>(static_cast<int32_t>(shifted) >> 23);
  const float m = std::bit_cast<float>((shifted & 0x007fffffu) + 0x3f3504f3u);
  const float s = (m - 1.0f) / (m + 1.0f), s2 = s * s;
  return e * 0.693147181f +
         2.0f * s * (1.0f + s2 * (1.0f / 3 + s2 * (1.0f / 5 + s2 * (1.0f / 7 + s2 * (1.0f / 9)))));
}

// Box-Muller on kPairs pairs of random words: kPairs cosines, then kPairs sines.
void normal_chunk(const uint32_t* first, const uint32_t* second, float* out) {
  for (size_t i = 0; i < kPairs; ++i) {
    // In (0, 1], so that the logarithm is finite.
    const float u = (static_cast<float>(static_cast<int32_t>(first[i] >> 8)) + 1.0f) * 0x1p-24f;
    const float radius = std::sqrt(-2.0f * logarithm(u));
    // The angle is a quarter turn times `turn`, plus a in [-pi/4, pi/4].
    const float quarters = static_cast<float>(static_cast<int32_t>(second[i] >> 8)) * 0x1p-22f;
    const int32_t turn = static_cast<int32_t>(quarters + 0.5f);
    const float a = (quarters - static_cast<float>(turn)) * 1.57079632679f, a2 = a * a;
    const float sine = a * (1.0f - a2 * (1.0f / 6 - a2 * (1.0f / 120 - a2 * (1.0f / 5040 - a2 / 362880))));
    const float cosine = 1.0f - a2 * (1.0f / 2 - a2 * (1.0f / 24 - a2 * (1.0f / 720 - a2 / 40320)));
    // Turning by quarters swaps the two and changes signs; all of it on bits.
    const uint32_t t = static_cast<uint32_t>(turn), swap = 0u - (t & 1u);
    const uint32_t c = std::bit_cast<uint32_t>(cosine), s = std::bit_cast<uint32_t>(sine);
    const uint32_t x = ((c & ~swap) | (s & swap)) ^ (((t + 1) & 2u) << 30);
    const uint32_t y = ((s & ~swap) | (c & swap)) ^ ((t & 2u) << 30);
    out[i] = radius * std::bit_cast<float>(x);
    out[i + kPairs] = radius * std::bit_cast<float>(y);
  }
}

}  // namespace

void RandomStream::fill_normal(std::span<float> out) {
  uint32_t first[kPairs], second[kPairs];
  float chunk[kChunk];
  for (size_t done = 0; done < out.size(); done += kChunk) {
    for (size_t block = 0; block < kChunkBlocks; ++block) {
      refill();
      first[2 * block] = block_[0], second[2 * block] = block_[1];
      first[2 * block + 1] = block_[2], second[2 * block + 1] = block_[3];
    }
    const size_t wanted = std::min(kChunk, out.size() - done);
    normal_chunk(first, second, wanted == kChunk ? out.data() + done : chunk);
    if (wanted < kChunk) std::copy_n(chunk, wanted, out.data() + done);
  }
  used_ = 4;
}

void RandomStream::normals_at(uint64_t first, std::span<float> out) const {
  RandomStream from = *this;
  from.position_ += first / kChunk * kChunkBlocks;
  if (const size_t skipped = first % kChunk; skipped > 0) {
    float head[kChunk];
    from.fill_normal(head);
    const size_t taken = std::min(kChunk - skipped, out.size());
    std::copy_n(head + skipped, taken, out.data());
    out = out.subspan(taken);
  }
  from.fill_normal(out);
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

#include "engine/native/tile_weights.h"

#include <algorithm>
#include <vector>

#include "core/round_up.h"
#include "core/threads.h"

namespace mdsm::engine::native {
namespace {

Bfloat16* halves(FloatBuffer& buffer) { return reinterpret_cast<Bfloat16*>(buffer.data()); }

// Zeros at first, which padding stays.
void make_halves(FloatBuffer& buffer, int64_t count) {
  if (buffer.size() > 0) return;
  buffer = FloatBuffer(static_cast<size_t>(round_up((count + 1) / 2, 16)));
  std::fill_n(buffer.data(), buffer.size(), 0.0f);
}

// The 3x3 kernel with the mean of four pixels behind it, each of which shifts the kernel: 4x4 weights as
// [phase][tap].
void fold_mean(const float* w, float* to) {
  float rows[4][3];
  for (int64_t x = 0; x < 3; ++x) {
    rows[0][x] = w[x];
    rows[1][x] = w[x] + w[3 + x];
    rows[2][x] = w[3 + x] + w[6 + x];
    rows[3][x] = w[6 + x];
  }
  for (int64_t y = 0; y < 4; ++y) {
    float* const even = to + y % 2 * 8 + y / 2 * 2;
    even[0] = 0.25f * rows[y][0];
    even[1] = 0.25f * (rows[y][1] + rows[y][2]);
    even[4] = 0.25f * (rows[y][0] + rows[y][1]);
    even[5] = 0.25f * rows[y][2];
  }
}

constexpr int64_t kMostWeights = 16;  // of a pair of channels, over all phases

}  // namespace

TileWeights::TileWeights(int64_t out, int64_t in, int64_t kernel, bool pooled)
    : out_(out), in_(in), kernel_(kernel), pooled_(pooled) {}

void TileWeights::set(const float* plain) {
  plain_ = plain;
  ready_ = false;
}

const Bfloat16* TileWeights::forward() {
  pack();
  return halves(forward_);
}

const Bfloat16* TileWeights::backward(int phase) {
  pack();
  return halves(backward_[phase]);
}

void TileWeights::pack() {
  if (ready_) return;
  const int64_t outs = divided_up(out_, kTileDepth), ins = divided_up(in_, kTileDepth);
  make_halves(forward_, divided_up(out_, kTileRows) * phases() * ins * taps() * kTileValues);
  for (int64_t p = 0; p < phases(); ++p)
    make_halves(backward_[p], divided_up(in_, kTileRows) * outs * taps() * kTileValues);
  parallel_for(outs * ins, 1, [&](int64_t first, int64_t last) {
    for (int64_t k = first; k < last; ++k) pack_block(k / ins * kTileDepth, k % ins * kTileDepth);
  });
  ready_ = true;
}

// Forward: [16 outputs][phase, 32 inputs][tap][pair of inputs][16 outputs][2]. Backward: the same with
// channels exchanged and taps turned round; pixels of a phase see the weights of the opposite one.
void TileWeights::pack_block(int64_t first_out, int64_t first_in) {
  alignas(64) thread_local Bfloat16 squares[kMostWeights][kTileDepth * kTileDepth];
  const int64_t outs = std::min(out_ - first_out, kTileDepth), ins = std::min(in_ - first_in, kTileDepth),
                all = phases() * taps();
  if (outs < kTileDepth || ins < kTileDepth)
    std::fill_n(squares[0], all * kTileDepth * kTileDepth, Bfloat16{});
  for (int64_t o = 0; o < outs; ++o) {
    const float* plain = plain_ + ((first_out + o) * in_ + first_in) * kernel_ * kernel_;
    for (int64_t i = 0; i < ins; ++i, plain += kernel_ * kernel_) {
      float folded[kMostWeights];
      if (pooled_) fold_mean(plain, folded);
      const float* const weights = pooled_ ? folded : plain;
      for (int64_t t = 0; t < all; ++t) squares[t][o * kTileDepth + i] = to_bfloat16(weights[t]);
    }
  }
  const int64_t forward_depth = phases() * divided_up(in_, kTileDepth), depth = divided_up(out_, kTileDepth);
  for (int64_t t = 0; t < all; ++t) {
    const int64_t phase = t / taps(), tap = t % taps(), opposite = phases() - 1 - phase;
    Bfloat16 *turned[2] = {}, *paired[2] = {};
    for (int64_t half = 0; half < 2; ++half) {
      const int64_t o16 = first_out / kTileRows + half, i16 = first_in / kTileRows + half;
      if (o16 < divided_up(out_, kTileRows))
        turned[half] =
            halves(forward_) +
            ((o16 * forward_depth + phase * divided_up(in_, kTileDepth) + first_in / kTileDepth) * taps() +
             tap) *
                kTileValues;
      if (i16 < divided_up(in_, kTileRows))
        paired[half] = halves(backward_[opposite]) +
                       ((i16 * depth + first_out / kTileDepth) * taps() + taps() - 1 - tap) * kTileValues;
    }
    tile_kernels().pack_weights(squares[t], turned, paired);
  }
}

void TileWeights::add_gradient(const float* sums, int64_t count, float* plain) const {
  const int64_t outputs = divided_up(out_, kTileRows), inputs = divided_up(in_, kTileRows),
                all = outputs * inputs * phases() * taps() * 256;
  // The gradients of 16 x 16 pairs of channels, [phase][tap][16][16].
  parallel_for(outputs * inputs, 1, [&](int64_t first, int64_t last) {
    std::vector<float> total(static_cast<size_t>(phases() * taps() * 256));
    for (int64_t pair = first; pair < last; ++pair) {
      const int64_t o16 = pair / inputs, i16 = pair % inputs, block = taps() * 256;
      std::ranges::fill(total, 0.0f);
      for (int64_t k = 0; k < count; ++k)
        for (int64_t phase = 0; phase < phases(); ++phase) {
          const float* const from = sums + k * all + ((o16 * phases() + phase) * inputs + i16) * block;
          float* const to = total.data() + phase * block;
          for (int64_t j = 0; j < block; ++j) to[j] += from[j];
        }
      for (int64_t o = o16 * kTileRows; o < std::min(out_, (o16 + 1) * kTileRows); ++o)
        for (int64_t i = i16 * kTileRows; i < std::min(in_, (i16 + 1) * kTileRows); ++i) {
          float* const to = plain + (o * in_ + i) * kernel_ * kernel_;
          const float* const from = total.data() + o % kTileRows * kTileRows + i % kTileRows;
          if (!pooled_) {
            for (int64_t t = 0; t < taps(); ++t) to[t] += from[t * 256];
            continue;
          }
          for (int64_t y = 0; y < 4; ++y)
            for (int64_t x = 0; x < 4; ++x) {
              const float value = 0.25f * from[((y % 2 * 2 + x % 2) * 4 + y / 2 * 2 + x / 2) * 256];
              for (int64_t a = std::max<int64_t>(y - 1, 0); a <= std::min<int64_t>(y, 2); ++a)
                for (int64_t b = std::max<int64_t>(x - 1, 0); b <= std::min<int64_t>(x, 2); ++b)
                  to[a * 3 + b] += value;
            }
        }
    }
  });
}

}  // namespace mdsm::engine::native

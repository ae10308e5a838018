// Separable resampling: weights per output position for each axis, then one pass along the rows and one along
// the columns.
#include <cmath>
#include <vector>

#include "core/error.h"
#include "image/image.h"
#include "image/raster.h"

namespace mdsm::image {
namespace {

struct Fixed {  // 8-bit values, weights with 22 fractional bits
  using Value = uint8_t;
  using Weight = int32_t;
  static constexpr int kBits = 22;
  static constexpr Weight kStart = 1 << (kBits - 1);
  static Weight weight(double w) { return static_cast<Weight>(w * (1 << kBits) + 0.5); }
  static Value finish(Weight sum) { return static_cast<Value>(std::clamp(sum >> kBits, 0, 255)); }
};

struct Real {
  using Value = float;
  using Weight = double;
  static constexpr Weight kStart = 0;
  static Weight weight(double w) { return w; }
  static Value finish(Weight sum) { return static_cast<Value>(sum); }
};

template <class P>
struct Taps {
  int64_t first = 0;  // input position of the first weight
  std::vector<typename P::Weight> weights;
};

template <class P>
std::vector<Taps<P>> axis_taps(int64_t in, int64_t out) {
  const double scale = static_cast<double>(in) / static_cast<double>(out), width = std::max(scale, 1.0);
  std::vector<Taps<P>> taps(static_cast<size_t>(out));
  for (int64_t i = 0; i < out; ++i) {
    const double centre = (static_cast<double>(i) + 0.5) * scale;
    const int64_t first = std::max<int64_t>(0, static_cast<int64_t>(centre - width + 0.5));
    const int64_t last = std::min<int64_t>(in, static_cast<int64_t>(centre + width + 0.5));
    std::vector<double> weights;
    double sum = 0;
    for (int64_t x = first; x < last; ++x) {
      const double distance = std::abs(static_cast<double>(x) + 0.5 - centre) / width;
      weights.push_back(std::max(0.0, 1.0 - distance));
      sum += weights.back();
    }
    auto& tap = taps[static_cast<size_t>(i)];
    tap.first = first;
    for (const double w : weights) tap.weights.push_back(P::weight(w / sum));
  }
  return taps;
}

template <class P>
void resize_rows(Raster<const typename P::Value> from, Raster<typename P::Value> to) {
  const auto taps = axis_taps<P>(from.width, to.width);
  const int64_t c = from.channels;
  for (int64_t y = 0; y < to.height; ++y) {
    const auto* row = from.data + y * from.width * c;
    auto* out = to.data + y * to.width * c;
    for (const auto& tap : taps)
      for (int64_t channel = 0; channel < c; ++channel) {
        auto sum = P::kStart;
        const auto* at = row + tap.first * c + channel;
        for (const auto weight : tap.weights) sum += weight * *at, at += c;
        *out++ = P::finish(sum);
      }
  }
}

template <class P>
void resize_columns(Raster<const typename P::Value> from, Raster<typename P::Value> to) {
  const auto taps = axis_taps<P>(from.height, to.height);
  const int64_t row_size = from.width * from.channels;
  std::vector<typename P::Weight> sums(static_cast<size_t>(row_size));
  auto* out = to.data;
  for (const auto& tap : taps) {
    std::fill(sums.begin(), sums.end(), P::kStart);
    const auto* row = from.data + tap.first * row_size;
    for (const auto weight : tap.weights) {
      for (int64_t i = 0; i < row_size; ++i) sums[static_cast<size_t>(i)] += weight * row[i];
      row += row_size;
    }
    out = std::transform(sums.begin(), sums.end(), out, [](auto sum) { return P::finish(sum); });
  }
}

template <class P>
void resize_both(Raster<const typename P::Value> from, Raster<typename P::Value> to) {
  std::vector<typename P::Value> middle(static_cast<size_t>(to.width * from.height * from.channels));
  resize_rows<P>(from, {middle.data(), to.width, from.height, from.channels});
  resize_columns<P>({middle.data(), to.width, from.height, from.channels}, to);
}

}  // namespace

void resize_raster(Raster<const uint8_t> from, Raster<uint8_t> to) { resize_both<Fixed>(from, to); }
void resize_raster(Raster<const float> from, Raster<float> to) { resize_both<Real>(from, to); }

Image resize(const Image& image, int64_t width, int64_t height) {
  if (image.pixels.empty()) fail("use an image with pixels", "an empty image cannot be resized");
  Image out = make_image(width, height, image.channels);
  resize_raster(Raster<const uint8_t>{image.pixels.data(), image.width, image.height, image.channels},
                {out.pixels.data(), width, height, image.channels});
  return out;
}

}  // namespace mdsm::image

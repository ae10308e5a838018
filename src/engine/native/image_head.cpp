#include "engine/native/image_head.h"

#include <algorithm>

#include "core/threads.h"

namespace mdsm::engine::native {
namespace {

// Calls body(place in the bordered image, in the map, in the plain image) for every value of image i that
// counts.
template <class Body>
void for_values(const ImageHead& h, int64_t i, const Body& body) {
  const int64_t row = h.map.width + 2, plane = row * (h.map.height + 2), block = h.map.block;
  const auto [top, left, height, width] = h.window;
  for (int64_t c = 0; c < h.image.c; ++c)
    for (int64_t y = top; y < top + height; ++y)
      for (int64_t x = left; x < left + width; ++x)
        body(i * h.bordered() + c * plane + (y + 1) * row + x + 1,
             (i * h.map.blocks() + c / block) * h.map.plane() + (y * h.map.width + x) * block + c % block,
             ((i * h.image.c + c) * h.image.h + y) * h.image.w + x);
}

// The same for all images, and first zeros in the maps `to`.
template <class Body>
void fill_maps(const ImageHead& h, float* to, const Body& body) {
  parallel_for(h.n, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      std::fill_n(to + i * h.map.blocks() * h.map.plane(), h.map.blocks() * h.map.plane(), 0.0f);
      for_values(h, i, [&](int64_t image, int64_t map, int64_t) { to[map] = body(i, image, map); });
    }
  });
}

// What a pixel y with result f adds to 2 sigma0² E, and the derivatives of E by F (times sigma0², or 2
// sigma0² where halved) and by the image past F (times sigma0²).
struct Terms {
  network::Head kind;

  bool halved() const { return kind == network::Head::inner_product; }
  template <class T>
  T energy(T y, T f) const {
    if (kind == network::Head::predicted_noise) return f * f;
    const T difference = y - f;
    return difference * (halved() ? y : difference);
  }
  float by_f(float y, float f) const {
    if (kind == network::Head::predicted_noise) return f;
    return halved() ? -y : -(y - f);
  }
  float by_image(float y, float f) const {
    if (kind == network::Head::predicted_noise) return 0;
    return halved() ? y - 0.5f * f : y - f;
  }
};

}  // namespace

void ImageHead::energy(const float* y, const float* f, std::span<float> energy) const {
  if (!network::has_energy(kind)) {
    std::ranges::fill(energy, 0.0f);
    return;
  }
  const Terms terms{kind};
  parallel_for(n, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      double sum = 0;
      for_values(*this, i, [&](int64_t pixel, int64_t at, int64_t) {
        sum += terms.energy(static_cast<double>(y[pixel]), static_cast<double>(f[at]));
      });
      energy[static_cast<size_t>(i)] = static_cast<float>(sum / (2 * sigma0 * sigma0));
    }
  });
}

float ImageHead::scale() const {
  return static_cast<float>(1 / (sigma0 * sigma0 * (Terms{kind}.halved() ? 2 : 1)));
}

void ImageHead::delta(const float* y, const float* f, std::span<const float> weight, float* delta) const {
  const Terms terms{kind};
  fill_maps(*this, delta, [&, factor = scale()](int64_t i, int64_t pixel, int64_t at) {
    return (weight.empty() ? factor : factor * weight[static_cast<size_t>(i)]) * terms.by_f(y[pixel], f[at]);
  });
}

void ImageHead::add_direct(const float* y, const float* f, float* grad_x) const {
  const Terms terms{kind};
  const auto factor = static_cast<float>(1 / (sigma0 * sigma0));
  parallel_for(n, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      for_values(*this, i, [&](int64_t pixel, int64_t at, int64_t plain) {
        grad_x[plain] += factor * terms.by_image(y[pixel], f[at]);
      });
  });
}

void ImageHead::denoiser_gradient(const float* y, const float* f, float* grad_x) const {
  const auto factor = static_cast<float>(1 / (sigma0 * sigma0));
  const bool noise = network::is_noise(kind);
  parallel_for(n, 1, [&](int64_t first, int64_t last) {
    std::fill_n(grad_x + first * image.count(), (last - first) * image.count(), 0.0f);
    for (int64_t i = first; i < last; ++i)
      for_values(*this, i, [&](int64_t place, int64_t at, int64_t plain) {
        grad_x[plain] = factor * (noise ? f[at] : y[place] - f[at]);
      });
  });
}

void ImageHead::denoiser_objective(const float* y, const float* clean, const float* f,
                                   std::span<const float> weight, std::span<float> residual,
                                   float* delta) const {
  const bool noise = network::is_noise(kind);
  parallel_for(n, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      std::fill_n(delta + i * map.blocks() * map.plane(), map.blocks() * map.plane(), 0.0f);
      double sum = 0;
      for_values(*this, i, [&](int64_t place, int64_t at, int64_t plain) {
        const float r = clean[plain] - 0.5f - (noise ? y[place] - f[at] : f[at]);
        sum += static_cast<double>(r) * r;
        delta[at] = (noise ? 2.0f : -2.0f) * weight[static_cast<size_t>(i)] * r;
      });
      residual[static_cast<size_t>(i)] = static_cast<float>(sum);
    }
  });
}

// dE/dF is linear in the image and F, so along v it is the same of their rates.
void ImageHead::second_order(const float* v, const float* fdot, float* gamma) const {
  const Terms terms{kind};
  fill_maps(*this, gamma, [&, factor = scale()](int64_t, int64_t pixel, int64_t at) {
    return factor * terms.by_f(v[pixel], fdot[at]);
  });
}

}  // namespace mdsm::engine::native

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

}  // namespace

void ImageHead::energy(const float* y, const float* f, std::span<float> energy) const {
  if (!network::has_energy(kind)) {
    std::ranges::fill(energy, 0.0f);
    return;
  }
  const bool residual = kind == network::Head::squared_residual;
  parallel_for(n, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      double sum = 0;
      for_values(*this, i, [&](int64_t pixel, int64_t at, int64_t) {
        const double value = y[pixel], difference = value - f[at];
        sum += difference * (residual ? difference : value);
      });
      energy[static_cast<size_t>(i)] = static_cast<float>(sum / (2 * sigma0 * sigma0));
    }
  });
}

void ImageHead::delta(const float* y, const float* f, std::span<const float> weight, float* delta) const {
  const bool residual = kind == network::Head::squared_residual;
  const auto scale = static_cast<float>(1 / (sigma0 * sigma0 * (residual ? 1 : 2)));
  fill_maps(*this, delta, [&](int64_t i, int64_t pixel, int64_t at) {
    const float factor = weight.empty() ? -scale : -scale * weight[static_cast<size_t>(i)];
    return factor * (residual ? y[pixel] - f[at] : y[pixel]);
  });
}

void ImageHead::add_direct(const float* y, const float* f, float* grad_x) const {
  const bool residual = kind == network::Head::squared_residual;
  const auto scale = static_cast<float>(1 / (sigma0 * sigma0));
  parallel_for(n, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i)
      for_values(*this, i, [&](int64_t pixel, int64_t at, int64_t plain) {
        grad_x[plain] += scale * (residual ? y[pixel] - f[at] : y[pixel] - 0.5f * f[at]);
      });
  });
}

void ImageHead::denoiser_gradient(const float* y, const float* f, float* grad_x) const {
  const auto scale = static_cast<float>(1 / (sigma0 * sigma0));
  parallel_for(n, 1, [&](int64_t first, int64_t last) {
    std::fill_n(grad_x + first * image.count(), (last - first) * image.count(), 0.0f);
    for (int64_t i = first; i < last; ++i)
      for_values(*this, i, [&](int64_t place, int64_t at, int64_t plain) {
        grad_x[plain] = scale * (y[place] - f[at]);
      });
  });
}

void ImageHead::denoiser_objective(const float* clean, const float* f, std::span<const float> weight,
                                   std::span<float> residual, float* delta) const {
  parallel_for(n, 1, [&](int64_t first, int64_t last) {
    for (int64_t i = first; i < last; ++i) {
      std::fill_n(delta + i * map.blocks() * map.plane(), map.blocks() * map.plane(), 0.0f);
      double sum = 0;
      for_values(*this, i, [&](int64_t, int64_t at, int64_t plain) {
        const float r = clean[plain] - 0.5f - f[at];
        sum += static_cast<double>(r) * r;
        delta[at] = -2 * weight[static_cast<size_t>(i)] * r;
      });
      residual[static_cast<size_t>(i)] = static_cast<float>(sum);
    }
  });
}

void ImageHead::second_order(const float* v, const float* fdot, float* gamma) const {
  const bool residual = kind == network::Head::squared_residual;
  const auto scale = static_cast<float>(1 / (sigma0 * sigma0 * (residual ? 1 : 2)));
  fill_maps(*this, gamma, [&](int64_t, int64_t pixel, int64_t at) {
    return -scale * (residual ? v[pixel] - fdot[at] : v[pixel]);
  });
}

}  // namespace mdsm::engine::native

#include "sample/update.h"

#include <algorithm>
#include <cmath>

namespace mdsm::sample {
namespace {
// Images live in [0,1] and the hottest noise in use has a few units; beyond this nothing comes back.
constexpr float kLargestPixel = 1e6f;
constexpr size_t kChunk = 1024;  // pixels whose noise stays in the first-level cache

// x += factor * g + scale * n, with n from fill(span), which gets consecutive parts of the image.
template <class Fill>
bool diffuse(std::span<float> x, std::span<const float> g, float factor, float scale, const Fill& fill) {
  float noise[kChunk];
  int bad = 0;
  for (size_t first = 0; first < x.size(); first += kChunk) {
    const size_t count = std::min(kChunk, x.size() - first);
    fill(std::span(noise, count));
    float* to = x.data() + first;
    const float* from = g.data() + first;
    for (size_t i = 0; i < count; ++i) {
      to[i] = to[i] + factor * from[i] + scale * noise[i];
      bad |= !(std::fabs(to[i]) < kLargestPixel);
    }
  }
  return !bad;
}

}  // namespace

int64_t rows_per_thread(int64_t pixels) { return std::max<int64_t>(2, 2048 / std::max<int64_t>(pixels, 1)); }

bool within_range(std::span<const float> x) {
  int bad = 0;  // counting instead of leaving early lets the loop be vectorised
  for (const float value : x) bad |= !(std::fabs(value) < kLargestPixel);
  return !bad;
}

bool drift(std::span<float> x, std::span<const float> g, float factor) {
  int bad = 0;
  for (size_t i = 0; i < x.size(); ++i) {
    x[i] += factor * g[i];
    bad |= !(std::fabs(x[i]) < kLargestPixel);
  }
  return !bad;
}

bool drift_and_diffuse(std::span<float> x, std::span<const float> g, float factor, float scale, Noise n) {
  return diffuse(x, g, factor, scale, [&](std::span<float> noise) { n.fill(noise); });
}

bool drift_and_diffuse(std::span<float> x, std::span<const float> g, float factor, float scale, Noise before,
                       Noise after) {
  return diffuse(x, g, factor, scale / 2, [&](std::span<float> noise) {
    float more[kChunk];
    before.fill(noise);
    after.fill({more, noise.size()});
    for (size_t i = 0; i < noise.size(); ++i) noise[i] += more[i];
  });
}

bool langevin_step(std::span<float> x, std::span<const float> g, double eps, RandomStream& stream) {
  return diffuse(x, g, static_cast<float>(-eps * eps / 2), static_cast<float>(eps),
                 [&](std::span<float> noise) { stream.fill_normal(noise); });
}

double sum_of_squares(std::span<const float> values) {
  double lanes[8] = {};  // a fixed order of addition that still allows vector code
  size_t i = 0;
  for (; i + 8 <= values.size(); i += 8)
    for (size_t lane = 0; lane < 8; ++lane) {
      const double value = values[i + lane];
      lanes[lane] += value * value;
    }
  double sum = 0;
  for (; i < values.size(); ++i) sum += static_cast<double>(values[i]) * values[i];
  for (const double lane : lanes) sum += lane;
  return sum;
}

float noise_level(double sigma0, std::span<const float> g) {
  return static_cast<float>(sigma0 * sigma0 * std::sqrt(sum_of_squares(g) / static_cast<double>(g.size())));
}

}  // namespace mdsm::sample

#include "eval/outlier_features.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"
#include "eval/energies.h"
#include "eval/least_energy.h"
#include "eval/spectrum.h"

namespace mdsm::eval {
namespace {

double norm_squared(std::span<const float> values) {
  double sum = 0;
  for (const float value : values) sum += static_cast<double>(value) * value;
  return sum;
}

// Of the features: a stream for every noise level and draw, the same for all images. What differs between
// images is then the images alone, which makes the features sharper. Energy and objective are the paper's:
// every image has noise of its own.
uint64_t level_stream(size_t level, int64_t draw) {
  return (static_cast<uint64_t>(level + 1) << 56) | static_cast<uint64_t>(draw);
}
uint64_t image_stream(int64_t image, int64_t draw) {
  return (static_cast<uint64_t>(draw) << 40) | static_cast<uint64_t>(image);
}

// One batch of images and what is computed of it.
class FeatureBatch {
 public:
  FeatureBatch(engine::EnergyModel& engine, const FeatureOptions& options, const Shape& shape)
      : engine_(engine), options_(options), clean_(shape), noisy_(shape), grad_x_(shape) {
    energy_.resize(static_cast<size_t>(shape.n));
  }

  TensorView clean() { return clean_; }

  // stream(i): of the noise of image i of the batch.
  template <class Stream>
  void evaluate(int64_t first, int64_t count, double sigma, const Stream& stream) {
    const TensorView x = noisy_.view().images(0, count);
    parallel_for(count, 1, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) {
        const auto to = x.image(i), from = clean_.view().image(i);
        RandomStream(options_.seed, Purpose::added_noise, stream(i)).fill_normal(to);
        for (size_t j = 0; j < to.size(); ++j) to[j] = from[j] + static_cast<float>(sigma) * to[j];
      }
    });
    const std::span<float> energy(energy_.data(), static_cast<size_t>(count));
    engine_.energy_and_gradient(x, energy, grad_x_.view().images(0, count));
    for (int64_t i = 0; i < count; ++i)
      if (!std::isfinite(energy[static_cast<size_t>(i)]) || find_non_finite(grad_x_.view().image(i)) >= 0)
        fail("check the model", "the energy or gradient of image {} is not finite", first + i);
  }

  double energy(int64_t i) const { return energy_[static_cast<size_t>(i)]; }
  double residual(int64_t i, double sigma0) const {
    const auto x = clean_.view().image(i), noisy = noisy_.view().image(i), g = grad_x_.view().image(i);
    double sum = 0;
    for (size_t j = 0; j < x.size(); ++j) {
      const double value = static_cast<double>(x[j]) - noisy[j] + sigma0 * sigma0 * g[j];
      sum += value * value;
    }
    return sum / (sigma0 * sigma0);
  }
  // Mean squares of the residual by bands, (spectrum's columns).
  std::vector<double> band_energies(int64_t i, double sigma0, const Spectrum& spectrum) const {
    const auto x = clean_.view().image(i), noisy = noisy_.view().image(i), g = grad_x_.view().image(i);
    std::vector<float> map(x.size());
    for (size_t j = 0; j < x.size(); ++j)
      map[j] = x[j] - noisy[j] + static_cast<float>(sigma0 * sigma0) * g[j];
    return spectrum.energies(map);
  }
  // Mean squares of the residual over channels, added to a map (H,W) with a weight.
  void add_squares(int64_t i, double sigma0, float weight, std::span<float> map) const {
    const auto x = clean_.view().image(i), noisy = noisy_.view().image(i), g = grad_x_.view().image(i);
    const float share = weight / static_cast<float>(x.size() / map.size());
    for (size_t j = 0; j < x.size(); ++j) {
      const float value = x[j] - noisy[j] + static_cast<float>(sigma0 * sigma0) * g[j];
      map[j % map.size()] += share * value * value;
    }
  }
  double gradient_norm(int64_t i) const { return std::sqrt(norm_squared(grad_x_.view().image(i))); }

 private:
  engine::EnergyModel& engine_;
  const FeatureOptions& options_;
  Tensor clean_, noisy_, grad_x_;
  std::vector<float> energy_;
};

// Where the error at each level goes, or -1. Without noise it is the score norm once more and left out.
std::vector<int64_t> error_columns(const FeatureOptions& options) {
  std::vector<int64_t> columns;
  int64_t next = options.kind == ScoreFeatures::errors ? 0 : static_cast<int64_t>(options.levels.size());
  for (const double level : options.levels)
    columns.push_back(options.kind != ScoreFeatures::norms && level > 0 ? next++ : -1);
  return columns;
}

// What rounding to 8 bits adds to an image: less than this says nothing.
constexpr double kPixelRounding = 1.0 / (12 * 255.0 * 255.0);

void add_detail(std::span<const float> image, const Spectrum& spectrum, FeatureTable& to) {
  for (const double energy : spectrum.detail(image)) to.values.push_back(std::log(energy + kPixelRounding));
}

}  // namespace

void check(const FeatureOptions& options) {
  if (options.levels.empty() || options.levels.size() > 100)
    fail_usage("use 1 to 100", "{} noise levels", options.levels.size());
  for (const double level : options.levels)
    if (!(level >= 0 && level <= 1000)) fail_usage("use 0 to 1000", "a noise level of {}", level);
  if (feature_columns(options) == 0)
    fail_usage("use levels above 0", "denoising errors without noise are no features");
  if (options.draws < 1 || options.draws > 65535) fail_usage("use 1 to 65535", "{} draws", options.draws);
}

std::vector<double> parse_levels(const std::string& text) {
  std::vector<double> levels;
  for (size_t first = 0; first <= text.size();) {
    const size_t comma = std::min(text.find(',', first), text.size());
    double value = 0;
    const char *begin = text.data() + first, *end = text.data() + comma;
    const auto [at, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || at != end || !(value >= 0 && value <= 1000))
      fail_usage("write numbers from 0 to 1000 as in 0.1,0.2,0.4", "--noise-levels: '{}'", text);
    levels.push_back(value);
    first = comma + 1;
  }
  return levels;
}

size_t feature_columns(const FeatureOptions& options) {
  size_t columns = options.kind == ScoreFeatures::errors ? 0 : options.levels.size();
  for (const int64_t place : error_columns(options)) columns += place >= 0;
  return columns;
}

int64_t evaluations_per_image(const FeatureOptions& options) {
  return options.draws * ((options.energies ? 1 : 0) + static_cast<int64_t>(options.levels.size()));
}

OutlierFeatures outlier_features(engine::EnergyModel& engine, const data::Dataset& data,
                                 const FeatureOptions& options, const std::function<void(int64_t)>& done,
                                 const OnMaps& on_maps) {
  check(options);
  check_fits(engine.image_shape(), data);
  const int64_t n = data.size(), size = std::clamp<int64_t>(options.batch, 1, n);
  const size_t levels = options.levels.size(), columns = feature_columns(options);
  const std::vector<int64_t> places = error_columns(options);
  const bool norms = options.kind != ScoreFeatures::errors;
  const double sigma0 = engine.sigma0(), draws = static_cast<double>(options.draws);
  OutlierFeatures found;
  found.energy.resize(static_cast<size_t>(n));
  found.objective.resize(static_cast<size_t>(n));
  found.score = {static_cast<int64_t>(columns), std::vector<double>(static_cast<size_t>(n) * columns)};
  const Spectrum spectrum(data.image_shape());
  const size_t bands = spectrum.columns();
  found.spectrum = {static_cast<int64_t>(levels * bands),
                    std::vector<double>(static_cast<size_t>(n) * levels * bands)};
  found.detail = {static_cast<int64_t>(spectrum.detail_columns()), {}};
  FeatureBatch batch(engine, options, data.image_shape().with_n(size));
  const auto plane = static_cast<size_t>(data.image_shape().h * data.image_shape().w);
  std::vector<float> maps;  // (batch, levels, H, W)
  int64_t evaluated = 0;
  for (int64_t first = 0; first < n; first += size) {
    const int64_t count = std::min(size, n - first);
    for (int64_t i = 0; i < count; ++i) data.read(first + i, batch.clean().image(i));
    for (int64_t i = 0; i < count; ++i) add_detail(batch.clean().image(i), spectrum, found.detail);
    if (on_maps) maps.assign(static_cast<size_t>(count) * levels * plane, 0.0f);
    for (int64_t draw = 0; draw < options.draws; ++draw) {
      if (options.energies)
        batch.evaluate(first, count, sigma0, [&](int64_t i) { return image_stream(first + i, draw); });
      for (int64_t i = 0; options.energies && i < count; ++i) {
        found.energy[static_cast<size_t>(first + i)] += batch.energy(i) / draws;
        found.objective[static_cast<size_t>(first + i)] += batch.residual(i, sigma0) / draws;
      }
      for (size_t level = 0; level < levels; ++level) {
        batch.evaluate(first, count, options.levels[level],
                       [&](int64_t) { return level_stream(level, draw); });
        for (int64_t i = 0; i < count; ++i) {
          double* row = found.score.values.data() + static_cast<size_t>(first + i) * columns;
          const auto add = [&](size_t column, double value) {
            row[column] += std::log(std::max(value, 1e-30)) / draws;
          };
          if (norms) add(level, sigma0 * sigma0 * batch.gradient_norm(i));
          if (places[level] >= 0)
            add(static_cast<size_t>(places[level]), sigma0 * std::sqrt(batch.residual(i, sigma0)));
        }
        parallel_for(count, 1, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i) {
            double* to =
                found.spectrum.values.data() + (static_cast<size_t>(first + i) * levels + level) * bands;
            for (const double energy : batch.band_energies(i, sigma0, spectrum))
              *to++ += std::log(energy + kLeastEnergy) / draws;
            if (on_maps)
              batch.add_squares(
                  i, sigma0, static_cast<float>(1 / draws),
                  std::span(maps).subspan((static_cast<size_t>(i) * levels + level) * plane, plane));
          }
        });
      }
    }
    for (int64_t i = 0; on_maps && i < count; ++i)
      on_maps(first + i, std::span(maps).subspan(static_cast<size_t>(i) * levels * plane, levels * plane));
    evaluated += count * evaluations_per_image(options);
    if (done) done(evaluated);
  }
  return found;
}

OutlierFeatures chosen(const OutlierFeatures& from, std::span<const uint32_t> rows) {
  OutlierFeatures out;
  out.score.columns = from.score.columns;
  out.spectrum.columns = from.spectrum.columns;
  out.detail.columns = from.detail.columns;
  for (const uint32_t row : rows) {
    out.energy.push_back(from.energy[row]);
    out.objective.push_back(from.objective[row]);
    const auto features = from.score.row(row);
    out.score.values.insert(out.score.values.end(), features.begin(), features.end());
    const auto spectrum = from.spectrum.row(row);
    out.spectrum.values.insert(out.spectrum.values.end(), spectrum.begin(), spectrum.end());
    const auto detail = from.detail.row(row);
    out.detail.values.insert(out.detail.values.end(), detail.begin(), detail.end());
  }
  return out;
}

}  // namespace mdsm::eval

#include "eval/detector.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"
#include "data/subset.h"
#include "eval/local_features.h"
#include "eval/mean.h"
#include "eval/outliers.h"
#include "eval/spectrum.h"

namespace mdsm::eval {
namespace {

constexpr int64_t kMaxPixels = 10'000;                 // that the density of surroundings is fitted to
constexpr uint64_t kPixelStream = uint64_t{1} << 61;   // apart from those of epochs and subsets
constexpr double kScaleShare = 0.2, kHotShare = 0.01;  // of the held-out images; of an image's pixels
constexpr int64_t kFewest = 40;                        // images to fit to

using Parts = std::array<double, kDetectorParts>;

constexpr size_t at(DetectorPart part) { return static_cast<size_t>(part); }

// So many rows of the table, drawn from the stream.
void take_rows(const FeatureTable& from, int64_t count, RandomStream stream, FeatureTable& to) {
  to.columns = from.columns;
  for (int64_t i = 0; i < count; ++i) {
    const auto row = from.row(static_cast<int64_t>(stream.below(static_cast<uint64_t>(from.rows()))));
    to.values.insert(to.values.end(), row.begin(), row.end());
  }
}

// How much larger than usual errors are around a pixel: mean over levels. Smaller ones, as on an even
// background, are no defect.
float excess(const std::vector<double>& units) {
  double sum = 0;
  for (const double value : units) sum += std::max(0.0, value);
  return static_cast<float>(sum / static_cast<double>(units.size()));
}

// Mean of the hottest pixels: a defect covers few of them.
double hottest(std::vector<float> heat) {
  const auto count = std::max<size_t>(1, static_cast<size_t>(kHotShare * static_cast<double>(heat.size())));
  const auto end = heat.begin() + static_cast<std::ptrdiff_t>(count);
  std::nth_element(heat.begin(), end - 1, heat.end(), std::greater<>());
  double sum = 0;
  for (auto it = heat.begin(); it != end; ++it) sum += static_cast<double>(*it);
  return sum / static_cast<double>(count);
}

struct Sets {
  std::shared_ptr<const data::Dataset> fit, scale, calibration;
};

struct Counts {
  int64_t fit = 0, calibration = 0;
};
Counts counts_of(int64_t images, double hold_out) {
  const int64_t held_out = data::held_out_count(images, hold_out);
  return {images - held_out, held_out - data::held_out_count(held_out, kScaleShare)};
}

int64_t least_images(double hold_out, int64_t calibration) {
  int64_t n = kFewest;
  while (counts_of(n, hold_out).fit < kFewest || counts_of(n, hold_out).calibration < calibration) ++n;
  return n;
}

// What calibrates is used for nothing else.
Sets split(std::shared_ptr<const data::Dataset> good, const DetectorOptions& options) {
  const auto whole = good->description();
  const Shape shape = good->image_shape();
  if (std::max(shape.h, shape.w) > kMaxDetectorSide)
    fail_usage("use --crop or --resize", "{}: a detector takes at most {} pixels a side", whole,
               kMaxDetectorSide);
  const int64_t all = good->size();
  const data::HeldOut first = data::hold_out(std::move(good), options.hold_out, options.seed);
  const data::HeldOut second = data::hold_out(first.held_out, kScaleShare, options.seed + 1);
  const auto needed = static_cast<int64_t>(std::ceil(1 / options.rate)) - 1;
  const int64_t enough = least_images(options.hold_out, needed);
  if (first.rest->size() < kFewest)
    fail(fmt::format("give at least {} images for a false-alarm rate of {:g}", enough, options.rate),
         "{}: {} images are too few; {} would remain to fit to, {} are needed", whole, all,
         first.rest->size(), kFewest);
  if (second.rest->size() < needed)
    fail(fmt::format("give at least {} images, or use --rate {:.2g}", enough,
                     1 / static_cast<double>(second.rest->size())),
         "{}: {} held-out images cannot show a false-alarm rate of {:g}; {} are needed", whole,
         second.rest->size(), options.rate, needed);
  return {first.rest, second.held_out, second.rest};
}

// Of the surroundings only the units are used, but one Gaussian is there all the same.
constexpr MixtureOptions kLocalDensity = {.components = 1};

// Few images are enough for a Gaussian whose covariances count a tenth less.
constexpr MixtureOptions kDetailDensity = {.components = 1, .floor = 0.1, .least_rows = 2};

// By how much a band of frequencies has less than the coarser ones make likely, at the most: blurred images
// and those of strong compression lack what others of their contrast have.
double lack(const std::vector<double>& units) { return -std::ranges::min(units); }

// About z where that is high, and 0 where it is low: what is usual by one measure does not excuse what is
// strange by another.
double softplus(double z) { return z > 30 ? z : std::log1p(std::exp(z)); }

float quantile(std::vector<float> values, double share) {
  const auto place = static_cast<std::ptrdiff_t>(share * static_cast<double>(values.size() - 1));
  std::nth_element(values.begin(), values.begin() + place, values.end());
  return values[static_cast<size_t>(place)];
}

}  // namespace

PartChoice parse_parts(const std::string& text) {
  PartChoice parts = {};
  for (size_t first = 0; first <= text.size();) {
    const size_t comma = std::min(text.find(',', first), text.size());
    parts[at(from_name<DetectorPart>(text.substr(first, comma - first), "--by: the measure"))] = true;
    first = comma + 1;
  }
  return parts;
}

Detector Detector::fit(engine::EnergyModel& engine, std::shared_ptr<const data::Dataset> good,
                       const DetectorOptions& options, const Done& done) {
  const Sets sets = split(std::move(good), options);
  DetectorState state;
  state.image = sets.fit->image_shape();
  state.features = options.features;
  state.features.energies = false;
  state.rate = options.rate;
  state.joined = options.parts;
  state.fitted = sets.fit->size();
  const int64_t each = evaluations_per_image(state.features);
  const int64_t total = each * (sets.fit->size() + sets.scale->size() + sets.calibration->size());
  int64_t before = 0;
  const auto told = [&](int64_t evaluations) {
    if (done) done(before + evaluations, total);
  };
  const LocalFeatures local(state.image, state.features.levels.size());
  const int64_t pixels = std::max<int64_t>(1, kMaxPixels / state.fitted);
  FeatureTable surroundings;
  const OutlierFeatures fitting = outlier_features(
      engine, *sets.fit, state.features, told, [&](int64_t image, std::span<const float> maps) {
        take_rows(local.of(maps), pixels,
                  {options.seed, Purpose::shuffle, kPixelStream + static_cast<uint64_t>(image)},
                  surroundings);
      });
  // What is scored with is what a file holds.
  state.densities = {FeatureDensity(fitting.score, options.mixture).numbers(),
                     FeatureDensity(fitting.spectrum, kSpectrumDensity).numbers(),
                     FeatureDensity(surroundings, kLocalDensity).numbers(),
                     FeatureDensity(fitting.detail, kDetailDensity).numbers()};
  state.spread.fill(1);
  state.calibration = {0};
  Detector detector(state, "the detector");

  before = each * sets.fit->size();
  std::vector<float> heats;
  const auto scales = detector.parts(engine, *sets.scale, told, [&](int64_t, std::span<const float> heat) {
    heats.insert(heats.end(), heat.begin(), heat.end());
  });
  for (size_t k = 0; k < kDetectorParts; ++k) {
    std::vector<double> values;
    for (const Parts& one : scales) values.push_back(one[k]);
    const Mean found = mean_of(values);
    detector.state_.centre[k] = static_cast<float>(found.mean);
    detector.state_.spread[k] = static_cast<float>(std::max(found.std, 1e-6));
  }
  before += each * sets.scale->size();
  std::vector<float> scores, hot;
  for (const Parts& one : detector.parts(engine, *sets.calibration, told, {})) {
    scores.push_back(static_cast<float>(detector.joined(one).score));
    hot.push_back(static_cast<float>(one[at(DetectorPart::local)]));
  }
  std::ranges::sort(scores);
  detector.state_.calibration = std::move(scores);
  detector.state_.heat = {quantile(std::move(heats), 0.9), quantile(std::move(hot), 1 - options.rate)};
  return detector;
}

Detector::Detector(DetectorState state, const std::string& where) : state_(std::move(state)) {
  for (size_t k = 0; k < kDetectorParts; ++k) densities_[k] = FeatureDensity(state_.densities[k], where);
  const std::array<size_t, kDetectorParts> wanted = {
      feature_columns(state_.features), state_.features.levels.size() * Spectrum(state_.image).columns(),
      state_.features.levels.size(), Spectrum(state_.image).detail_columns()};
  const auto damaged = [&](const char* what) { fail("fit the detector again", "{}: {}", where, what); };
  for (size_t k = 0; k < kDetectorParts; ++k)
    if (densities_[k].features() != wanted[k]) damaged("a density of other features than its options have");
  for (const float value : state_.spread)
    if (!(value > 0)) damaged("a spread that is not positive");
  if (std::ranges::count(state_.joined, true) == 0) damaged("no measure to go by");
  if (!(state_.rate > 0 && state_.rate < 1)) damaged("a rate that is none");
  if (state_.calibration.empty() || !std::ranges::is_sorted(state_.calibration)) damaged("no calibration");
}

double Detector::p_value(double score) const {
  const auto& all = state_.calibration;
  const auto above = all.end() - std::ranges::lower_bound(all, static_cast<float>(score));
  return static_cast<double>(above + 1) / static_cast<double>(all.size() + 1);
}

double Detector::threshold() const {
  const auto& all = state_.calibration;
  const auto place = static_cast<size_t>(state_.rate * static_cast<double>(all.size() + 1));
  return static_cast<double>(all[all.size() - std::clamp<size_t>(place, 1, all.size())]);
}

std::vector<Parts> Detector::parts(engine::EnergyModel& engine, const data::Dataset& images,
                                   const std::function<void(int64_t)>& done, const OnHeat& on_heat) const {
  const LocalFeatures local(state_.image, state_.features.levels.size());
  std::vector<Parts> found(static_cast<size_t>(images.size()));
  const OutlierFeatures features = outlier_features(
      engine, images, state_.features, done, [&](int64_t image, std::span<const float> maps) {
        const FeatureTable rows = local.of(maps);
        std::vector<float> heat(static_cast<size_t>(rows.rows()));
        parallel_for(rows.rows(), 256, [&](int64_t begin, int64_t end) {
          for (int64_t i = begin; i < end; ++i)
            heat[static_cast<size_t>(i)] = excess(densities_[at(DetectorPart::local)].in_units(rows.row(i)));
        });
        if (on_heat) on_heat(image, heat);
        found[static_cast<size_t>(image)][at(DetectorPart::local)] = hottest(std::move(heat));
      });
  parallel_for(images.size(), 16, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      Parts& one = found[static_cast<size_t>(i)];
      one[at(DetectorPart::norms)] = densities_[at(DetectorPart::norms)].strangeness(features.score.row(i));
      one[at(DetectorPart::spectrum)] =
          densities_[at(DetectorPart::spectrum)].strangeness(features.spectrum.row(i));
      one[at(DetectorPart::detail)] =
          lack(densities_[at(DetectorPart::detail)].given_those_before(features.detail.row(i)));
    }
  });
  return found;
}

ImageScore Detector::joined(const Parts& parts) const {
  ImageScore out;
  const auto count = static_cast<double>(std::ranges::count(state_.joined, true));
  for (size_t k = 0; k < kDetectorParts; ++k) {
    out.parts[k] = (parts[k] - static_cast<double>(state_.centre[k])) / static_cast<double>(state_.spread[k]);
    if (state_.joined[k]) out.score += softplus(out.parts[k]) / count;
  }
  out.p = p_value(out.score);
  out.outlier = out.p <= state_.rate;
  return out;
}

std::vector<ImageScore> Detector::score(engine::EnergyModel& engine, const data::Dataset& images,
                                        const std::function<void(int64_t)>& done,
                                        const OnHeat& on_heat) const {
  std::vector<ImageScore> scores;
  for (const Parts& one : parts(engine, images, done, on_heat)) scores.push_back(joined(one));
  return scores;
}

}  // namespace mdsm::eval

#include "app/landscape.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "app/output.h"
#include "core/error.h"
#include "core/progress.h"
#include "data/fitting.h"
#include "image/picture.h"
#include "sample/langevin.h"

namespace mdsm::app {
namespace {

using nlohmann::json;
using Vector = std::vector<double>;

double dot(const Vector& a, const Vector& b) {
  return std::inner_product(a.begin(), a.end(), b.begin(), 0.0);
}

class LandscapeJob {
 public:
  LandscapeJob(const LandscapeOptions& options, const std::atomic<bool>& stop)
      : options_(options),
        stop_(stop),
        model_(options.use.load()),
        shape_(model_.parameters.spec().input(1)),
        batch_(batch_of(shape_, options.use.batch)),
        engine_(options.use.make(model_, batch_)),
        progress_("landscape", options.points + options.grid * options.grid, "energies") {
    engine_->require_energy("mdsm landscape");
    for (const std::string& path : options.images) pictures_.push_back(fitted(path));
    lay_plane();
  }
  Landscape run();

 private:
  Vector fitted(const std::string& path) const;
  void lay_plane();
  Vector at(const Place& place) const;
  Place shadow(std::span<const float> image) const;
  std::vector<double> energies(const std::vector<Place>& places);
  std::vector<std::vector<Place>> walk();

  const LandscapeOptions& options_;
  const std::atomic<bool>& stop_;
  network::Model model_;
  Shape shape_;
  int64_t batch_, done_ = 0;
  std::unique_ptr<engine::EnergyModel> engine_;
  Progress progress_;
  std::vector<Vector> pictures_;
  Vector along_, aside_;  // both as long as the line from the first picture to the second
};

Vector LandscapeJob::fitted(const std::string& path) const {
  const image::Picture picture = image::read_picture(path);
  data::DataOptions options;
  options.colour = shape_.c == 1 ? data::Colour::grey : data::Colour::rgb;
  const std::vector<float> values = data::Fitting(picture.shape, shape_, options, path).fit(picture);
  return {values.begin(), values.end()};
}

// The third picture, or a random direction, gives the plane; what it has of the line is taken off.
void LandscapeJob::lay_plane() {
  const size_t n = pictures_[0].size();
  along_.resize(n), aside_.resize(n);
  std::vector<float> noise(n);
  sample::sample_stream(static_cast<uint64_t>(options_.seed), sample::Draw::start).fill_normal(noise);
  for (size_t i = 0; i < n; ++i) {
    along_[i] = pictures_[1][i] - pictures_[0][i];
    aside_[i] = pictures_.size() > 2 ? pictures_[2][i] - pictures_[0][i] : double{noise[i]};
  }
  const double length = std::sqrt(dot(along_, along_)), share = dot(aside_, along_) / (length * length);
  for (size_t i = 0; i < n; ++i) aside_[i] -= share * along_[i];
  const double width = std::sqrt(dot(aside_, aside_));
  if (!(length > 1e-6) || !(width > 1e-6))
    fail_usage("name different pictures", "{}: the pictures are the same, or lie on one line",
               options_.images[length > 1e-6 ? 2 : 1]);
  for (double& value : aside_) value *= length / width;
}

Vector LandscapeJob::at(const Place& place) const {
  Vector image = pictures_[0];
  for (size_t i = 0; i < image.size(); ++i) image[i] += place[0] * along_[i] + place[1] * aside_[i];
  return image;
}

Place LandscapeJob::shadow(std::span<const float> image) const {
  Vector from(image.begin(), image.end());
  for (size_t i = 0; i < from.size(); ++i) from[i] -= pictures_[0][i];
  const double unit = dot(along_, along_);
  return {dot(from, along_) / unit, dot(from, aside_) / unit};
}

std::vector<double> LandscapeJob::energies(const std::vector<Place>& places) {
  std::vector<double> found;
  for (size_t first = 0; first < places.size(); first = found.size()) {
    if (stop_) fail("the same call starts again", "stopped");
    const auto count = std::min(batch_, static_cast<int64_t>(places.size() - first));
    Tensor x(shape_.with_n(count));
    for (int64_t k = 0; k < count; ++k)
      std::ranges::copy(at(places[first + static_cast<size_t>(k)]), x.view().image(k).begin());
    std::vector<float> energy(static_cast<size_t>(count));
    engine_->energy(x, energy);
    found.insert(found.end(), energy.begin(), energy.end());
    progress_.update(done_ += count);
  }
  return found;
}

std::vector<std::vector<Place>> LandscapeJob::walk() {
  const auto chains = static_cast<size_t>(options_.chains) * pictures_.size();
  std::vector<std::vector<Place>> ways(chains);
  if (chains == 0) return ways;
  Tensor start(shape_.with_n(static_cast<int64_t>(chains)));
  std::vector<uint64_t> seeds(chains);
  for (size_t i = 0; i < chains; ++i) {
    seeds[i] = static_cast<uint64_t>(options_.seed) + i;
    std::ranges::copy(pictures_[i % pictures_.size()], start.view().image(static_cast<int64_t>(i)).begin());
  }
  const auto observer = [&](const sample::StepReport& report) {
    for (size_t row = 0; row < report.index.size(); ++row)
      ways[static_cast<size_t>(report.index[row])].push_back(
          shadow(report.x.image(static_cast<int64_t>(row))));
  };
  const sample::Run run{
      .model = *engine_, .seeds = seeds, .start = start.view(), .observer = observer, .stop = &stop_};
  if (sample::langevin(run, {.temperature = options_.temperature, .steps = options_.steps},
                       {.eps = options_.eps, .jump = false})
          .stopped)
    fail("the same call starts again", "stopped");
  return ways;
}

// `count` places from low to high.
std::vector<double> spaced(double low, double high, int64_t count) {
  std::vector<double> found;
  for (int64_t i = 0; i < count; ++i)
    found.push_back(low + (high - low) * static_cast<double>(i) / static_cast<double>(count - 1));
  return found;
}

Landscape LandscapeJob::run() {
  constexpr double kMargin = 0.4;
  Landscape found;
  found.parameters = model_parameters(options_.use.model, model_);
  found.parameters.update({{"seed", options_.seed},
                           {"steps", options_.steps},
                           {"eps", options_.eps},
                           {"temperature", options_.temperature}});
  found.pictures = options_.images;
  double low = -0.5, high = 0.5, left = 0, right = 1;
  for (const Vector& picture : pictures_) {
    const std::vector<float> values(picture.begin(), picture.end());
    const Place place = found.places.emplace_back(shadow(values));
    left = std::min(left, place[0]), right = std::max(right, place[0]);
    low = std::min(low, place[1]), high = std::max(high, place[1]);
  }
  std::vector<Place> places;
  for (const double t : found.at = spaced(0, 1, options_.points)) places.push_back({t, 0});
  found.line = energies(places);
  found.across = spaced(left - kMargin, right + kMargin, options_.grid);
  found.upwards = spaced(low - kMargin, high + kMargin, options_.grid);
  for (const double t : found.upwards) {
    places.clear();
    for (const double s : found.across) places.push_back({s, t});
    found.plane.push_back(energies(places));
  }
  found.chains = walk();
  return found;
}

}  // namespace

Landscape run_landscape(const LandscapeOptions& options, const std::atomic<bool>& stop) {
  if (options.images.size() < 2 || options.images.size() > 3)
    fail_usage("name two or three pictures", "mdsm landscape: {} pictures given", options.images.size());
  if (!options.out.empty()) check_folder_of(options.out), check_output(options.out, options.force);
  const Landscape found = LandscapeJob(options, stop).run();
  if (!options.out.empty()) write_json(options.out, to_json(found));
  return found;
}

json to_json(const Landscape& found) {
  return {{"parameters", found.parameters},
          {"pictures", found.pictures},
          {"places", found.places},
          {"line", {{"at", found.at}, {"energy", found.line}}},
          {"plane", {{"across", found.across}, {"upwards", found.upwards}, {"energy", found.plane}}},
          {"chains", found.chains}};
}

void print(const Landscape& found) {
  const auto [low, high] = std::ranges::minmax_element(found.line);
  fmt::print("line     {} points, energy {:.6g} at the first picture, {:.6g} at the second\n",
             found.line.size(), found.line.front(), found.line.back());
  fmt::print("lowest   {:.6g} at {:.3f}\nhighest  {:.6g} at {:.3f}\n", *low,
             found.at[static_cast<size_t>(low - found.line.begin())], *high,
             found.at[static_cast<size_t>(high - found.line.begin())]);
}

}  // namespace mdsm::app

#include "app/neighbours.h"

#include <algorithm>
#include <chrono>

#include "app/engine_options.h"
#include "app/model_use.h"
#include "app/output.h"
#include "core/error.h"
#include "core/progress.h"
#include "eval/sample_source.h"
#include "image/image.h"
#include "plot/histogram.h"
#include "report/neighbour_figure.h"

namespace mdsm::app {
namespace {

struct Sets {
  std::unique_ptr<data::Dataset> training, samples, held_out;  // held_out may be missing
};

// "figure-features.svg" from ("figure", ".svg").
std::string file_name(Space space, const char* stem, const char* end) {
  return fmt::format("{}{}{}", stem, space == Space::features ? "-features" : "", end);
}

std::vector<std::string> files(const NeighboursOptions& options) {
  std::vector<std::string> names{"neighbours.json"};
  for (const Space space : {Space::pixels, Space::features}) {
    if (space == Space::features && !options.features.given()) continue;
    for (const auto& [stem, end] : {std::pair{"figure", ".png"}, {"figure", ".svg"}, {"histogram", ".svg"}})
      names.push_back(file_name(space, stem, end));
  }
  return names;
}

// A path may be written in several ways.
bool same_source(const std::string& a, const std::string& b) {
  std::error_code error;
  return a == b || fs::equivalent(a, b, error);
}

// Training images in the place of held-out ones would call every copy usual.
std::unique_ptr<data::Dataset> open_held_out(const NeighboursOptions& options, data::DataOptions data,
                                             const data::Dataset& training) {
  const bool own = options.held_out.empty() || same_source(options.held_out, data.source);
  if (own && training.part() != data::Split::train)
    fail_usage("give --held-out, or add --no-held-out", "{}: {}", data.source,
               !training.part() ? "has no test images of its own"
                                : "its test images are the training images here (--split test)");
  if (!options.held_out.empty()) data.source = options.held_out;
  data.split = data::Split::test;
  data.limit = options.held_out_limit;
  return data::open_dataset(data);
}

void check_shapes(const Sets& sets) {
  const Shape shape = sets.training->image_shape();
  for (const auto* set : {&sets.samples, &sets.held_out})
    if (*set && (*set)->image_shape() != shape)
      fail("fit the training images with --pad, --crop, --resize or --colour",
           "{}: images of {} cannot be compared with those of {}", (*set)->description(),
           (*set)->image_shape().text(), shape.text());
}

Sets open(const NeighboursOptions& options, const eval::SampleSource& source) {
  data::DataOptions data = options.data, as_they_are;  // samples, but for padding and channels
  data.seed = static_cast<uint64_t>(options.seed);
  as_they_are.pad = data.pad;
  if (data.colour == data::Colour::apart) as_they_are.colour = data.colour;
  Sets sets;
  sets.samples = eval::open_samples(source, as_they_are);
  sets.training = data::open_dataset(data);
  if (!options.no_held_out) sets.held_out = open_held_out(options, data, *sets.training);
  check_shapes(sets);
  if (options.k > sets.training->size())
    fail_usage("use fewer", "{} neighbours among {} training images", options.k, sets.training->size());
  return sets;
}

Sets in_feature_space(eval::FeatureNetwork& network, const Sets& sets) {
  const auto features = [&](const data::Dataset& images, const char* what) {
    Progress progress(what, images.size(), "images");
    auto found = eval::feature_images(network, images, [&](int64_t done) { progress.update(done); });
    Progress::clear_line();
    return found;
  };
  Sets found;
  found.samples = features(*sets.samples, "samples");
  found.training = features(*sets.training, "training");
  if (sets.held_out) found.held_out = features(*sets.held_out, "held out");
  return found;
}

// Neighbours of samples and of held-out images in one space, and all that is made of them.
class Comparison {
 public:
  // sets: the pictures; measured: where distances are taken, the same ones or their features.
  Comparison(const NeighboursOptions& options, Space space, const Sets& sets, const Sets& measured)
      : options_(options), space_(space), sets_(sets) {
    const auto start = std::chrono::steady_clock::now();
    found_ = eval::nearest_neighbours(
        *measured.training, eval::all_images({measured.samples.get(), measured.held_out.get()}), options.k);
    seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
    const int64_t n = sets.samples->size();
    samples_ = eval::nearest_distances(found_, 0, n);
    if (sets.held_out) held_out_ = eval::nearest_distances(found_, n, sets.held_out->size());
  }

  SpaceResult result() const {
    SpaceResult result;
    result.space = space_;
    result.searched_in_double = found_.searched_in_double;
    result.seconds = seconds_;
    const auto lists = static_cast<size_t>(sets_.samples->size() * options_.k);
    result.nearest.assign(found_.list.begin(), found_.list.begin() + static_cast<int64_t>(lists));
    for (eval::Neighbour& neighbour : result.nearest)
      neighbour.index = sets_.training->source_index(neighbour.index);
    if (sets_.held_out) result.memorisation = eval::memorisation(samples_, held_out_, options_.quantile);
    return result;
  }

  void draw() const {
    const Shape one = sets_.training->image_shape();
    const auto file = [&](const char* stem, const char* end) {
      return fs::path(options_.out) / file_name(space_, stem, end);
    };
    const report::NeighbourGrid grid =
        report::neighbour_grid(*sets_.samples, *sets_.training, found_, options_.rows);
    const fs::path png = file("figure", ".png");
    image::write_png(png, image::grid(grid.images, 1 + options_.k, options_.scale, report::kFigureGap),
                     picture_text({{"command", "neighbours"}}));
    write_file(file("figure", ".svg"),
               report::neighbour_figure(read_bytes(png), {one.w * options_.scale, one.h * options_.scale},
                                        grid.distances, options_.k));
    std::vector<plot::HistogramGroup> groups{{"samples", samples_}};
    if (sets_.held_out) groups.push_back({"held-out images", held_out_});
    write_file(file("histogram", ".svg"),
               plot::histogram("distance to the nearest training image", distance_text(space_), groups, 40));
  }

 private:
  const NeighboursOptions& options_;
  Space space_;
  const Sets& sets_;
  eval::Neighbours found_;
  std::vector<double> samples_, held_out_;  // nearest distances
  double seconds_ = 0;
};

NeighboursResult described(const NeighboursOptions& options, const Sets& sets, const std::string& seeds) {
  NeighboursResult result;
  result.k = options.k;
  result.n_training = sets.training->size();
  result.n_samples = sets.samples->size();
  result.samples = sets.samples->description();
  result.seeds = seeds;
  result.training = sets.training->description();
  if (sets.held_out) result.held_out = sets.held_out->description();
  result.parameters = options.recorded;
  result.out = options.out;
  return result;
}

}  // namespace

NeighboursResult run_neighbours(const NeighboursOptions& options) {
  check_outputs(options.out, files(options), options.force);
  use_threads(options.threads);
  const eval::SampleSource source = eval::sample_source(options.samples);
  const Sets sets = open(options, source);
  const auto network = options.features.given() ? options.features.make("", options.device, 64) : nullptr;
  if (network) probe(*network, sets.training->image_shape());
  make_folder(options.out);
  const fs::path file = fs::path(options.out) / "neighbours.json";
  NeighboursResult result = described(options, sets, source.seeds);
  const Comparison pixels(options, Space::pixels, sets, sets);
  result.pixels = pixels.result();
  write_json(file, file_json(result));  // before anything else can fail
  pixels.draw();
  if (network) {
    const Comparison features(options, Space::features, sets, in_feature_space(*network, sets));
    result.features = features.result();
    result.features->network = network->description();
    write_json(file, file_json(result));
    features.draw();
  }
  return result;
}

}  // namespace mdsm::app

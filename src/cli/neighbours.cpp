// mdsm neighbours: samples beside the training images nearest to them, and whether they are nearer than they
// should be; in pixels, and in the space of a feature network when one is named.
#include "eval/neighbours.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "cli/command.h"
#include "app/features.h"
#include "app/model_use.h"
#include "app/output.h"
#include "core/error.h"
#include "core/progress.h"
#include "core/threads.h"
#include "data/data_options.h"
#include "eval/sample_source.h"
#include "eval/tensor_images.h"
#include "image/image.h"
#include "plot/histogram.h"
#include "report/neighbour_figure.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

// Where distances are measured.
struct Space {
  std::string suffix;    // of the names of its files
  std::string distance;  // what the numbers are
  eval::Neighbours found;
  double seconds = 0;
};

class NeighboursCommand : public Command {
 public:
  const char* name() const override { return "neighbours"; }
  const char* summary() const override {
    return "Find the training images nearest to samples; a test of memorisation";
  }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  void check(const OptionSet& options) const;
  void open();
  void open_held_out();
  void check_shapes() const;
  Space pixel_space() const;
  Space feature_space(eval::FeatureNetwork& network) const;
  void draw(const Space& space) const;
  json lists(const Space& space) const;
  json memorisation_json(const Space& space) const;
  json result(const Space& space) const;
  void write(const json& values) const;
  void print_space(const char* title, const json& space) const;
  void print(const json& found) const;

  data::DataOptions data_;
  app::FeatureChoice features_;
  eval::SampleSource source_;
  std::string samples_path_, held_out_source_, device_ = "cpu", out_ = "neighbours";
  int64_t k_ = 10, held_out_limit_ = 1000, rows_ = 16, scale_ = 2, threads_ = 0, seed_ = 0;
  double quantile_ = 0.05;
  bool no_held_out_ = false, force_ = false, json_ = false;
  std::unique_ptr<data::Dataset> training_, samples_, held_out_;
};

void NeighboursCommand::declare(OptionSet& options) {
  options.group("Samples");
  options.add("samples", samples_path_, "folder of mdsm sample, samples.npy, or images")
      .meta("FOLDER|FILE")
      .positional()
      .required();
  data::declare_data_options(options, data_, {.random_limit = true, .apart = true});
  options.add("held-out", held_out_source_, "images to compare with; without it the test split of --data")
      .meta("SOURCE");
  options.add("held-out-limit", held_out_limit_, "only so many of those, drawn by chance; 0 = all").range(0);
  options.add("no-held-out", no_held_out_, "neighbours only, no test of memorisation");
  options.group("Search");
  options.add("k", k_, "neighbours of each sample").range(1, 1000);
  options
      .add("quantile", quantile_,
           "of the held-out images' nearest distances, against which samples are counted")
      .above(0);
  options.add("seed", seed_, "of the images drawn by chance").range(0, 1e9);
  options.add("threads", threads_, "CPU threads; 0 takes all").range(0, 1024);
  features_.declare(options, "pixels only");
  options.add("device", device_, "with --features: where its network runs, cpu or cuda or cuda:K")
      .meta("DEVICE");
  options.group("Output");
  options
      .add("out", out_,
           "folder for figure.png, figure.svg, histogram.svg (and those of features) and "
           "neighbours.json")
      .meta("FOLDER");
  options.add("rows", rows_, "samples in the figure").range(1, 1000);
  options.add("scale", scale_, "size of a pixel in the figure").range(1, 16);
  options.add("force", force_, "replace the results in the folder").command_line_only();
  options.add("json", json_, "print JSON for machines").command_line_only();
  options.example("mdsm neighbours samples --data fashion-mnist --classifier fashion-mnist --out neighbours");
}

void NeighboursCommand::check(const OptionSet& options) const {
  if (!(quantile_ < 1)) fail_usage("use a number between 0 and 1", "--quantile: {}", quantile_);
  if (no_held_out_ && !held_out_source_.empty())
    fail_usage("leave one out", "--held-out and --no-held-out exclude each other");
  for (const char* name : {"held-out-limit", "quantile"})
    if (no_held_out_ && options.given(name))
      fail_usage("leave one out", "--{} has no meaning with --no-held-out", name);
  if (features_.script.empty() && options.given("device"))
    fail_usage("leave it out", "--device without --features");
  features_.check();
  std::vector<std::string> files{"neighbours.json"};
  for (const char* suffix : {"", "-features"}) {
    if (*suffix && !features_.given()) continue;
    for (const char* file : {"figure{}.png", "figure{}.svg", "histogram{}.svg"})
      files.push_back(fmt::format(fmt::runtime(file), suffix));
  }
  app::check_outputs(out_, files, force_);
}

// A path may be written in several ways.
bool same_source(const std::string& a, const std::string& b) {
  std::error_code error;
  return a == b || fs::equivalent(a, b, error);
}

// Training images in the place of held-out ones would call every copy usual.
void NeighboursCommand::open_held_out() {
  const bool own = held_out_source_.empty() || same_source(held_out_source_, data_.source);
  if (own && training_->part() != "train")
    fail_usage("give --held-out, or add --no-held-out", "{}: {}", data_.source,
               training_->part().empty() ? "has no test images of its own"
                                         : "its test images are the training images here (--split test)");
  data::DataOptions options = data_;
  if (!held_out_source_.empty()) options.source = held_out_source_;
  options.split = "test";
  options.limit = held_out_limit_;
  held_out_ = data::open_dataset(options);
}

void NeighboursCommand::check_shapes() const {
  for (const auto* set : {&samples_, &held_out_})
    if (*set && (*set)->image_shape() != training_->image_shape())
      fail("fit the training images with --pad, --crop, --resize or --colour",
           "{}: images of {} cannot be compared with those of {}", (*set)->description(),
           (*set)->image_shape().text(), training_->image_shape().text());
}

void NeighboursCommand::open() {
  data_.seed = static_cast<uint64_t>(seed_);
  source_ = eval::sample_source(samples_path_);
  data::DataOptions options;  // samples are taken as they are, but for the channels
  if (data_.colour == "apart") options.colour = data_.colour;
  samples_ = eval::open_samples(source_, options);
  training_ = data::open_dataset(data_);
  if (!no_held_out_) open_held_out();
  check_shapes();
  if (k_ > training_->size())
    fail_usage("use fewer", "{} neighbours among {} training images", k_, training_->size());
}

// Samples, then held-out images.
Tensor both(const data::Dataset& samples, const data::Dataset* held_out) {
  const int64_t n = samples.size(), m = held_out ? held_out->size() : 0;
  Tensor images(samples.image_shape().with_n(n + m));
  for (int64_t i = 0; i < n; ++i) samples.read(i, images.view().image(i));
  for (int64_t i = 0; i < m; ++i) held_out->read(i, images.view().image(n + i));
  return images;
}

Space search(const data::Dataset& training, const Tensor& images, int64_t k, Space space) {
  const auto start = std::chrono::steady_clock::now();
  space.found = eval::nearest_neighbours(training, images, k);
  space.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return space;
}

Space NeighboursCommand::pixel_space() const {
  return search(*training_, both(*samples_, held_out_.get()), k_, {"", "L2, pixels in [0,1], exact", {}, 0});
}

std::unique_ptr<data::Dataset> in_feature_space(eval::FeatureNetwork& network, const data::Dataset& data, const char* what) {
  Progress progress(what, data.size(), "images");
  const eval::FeatureSet set = network.extract(data, [&](int64_t done) { progress.update(done); });
  Progress::clear_line();
  if (find_non_finite(set.features) >= 0)
    fail("check the feature network", "a feature of {} is not finite", data.description());
  Tensor x({set.n, 1, 1, set.dimensions});
  std::ranges::copy(set.features, x.data());
  return std::make_unique<eval::TensorImages>(std::move(x), data.description());
}

Space NeighboursCommand::feature_space(eval::FeatureNetwork& network) const {
  const auto samples = in_feature_space(network, *samples_, "samples");
  const auto training = in_feature_space(network, *training_, "training");
  const auto held_out = held_out_ ? in_feature_space(network, *held_out_, "held out") : nullptr;
  return search(*training, both(*samples, held_out.get()), k_, {"-features", "L2 of features, exact", {}, 0});
}

void NeighboursCommand::draw(const Space& space) const {
  const int64_t rows = std::min(rows_, samples_->size());
  const Shape one = training_->image_shape();
  Tensor shown(one.with_n(rows * (1 + k_)));
  std::vector<double> distances;
  for (int64_t row = 0; row < rows; ++row) {
    samples_->read(row, shown.view().image(row * (1 + k_)));
    for (int64_t rank = 0; rank < k_; ++rank) {
      const eval::Neighbour& neighbour = space.found.of(row, rank);
      training_->read(neighbour.index, shown.view().image(row * (1 + k_) + 1 + rank));
      distances.push_back(neighbour.distance);
    }
  }
  const auto file = [&](const char* stem, const char* end) {
    return fs::path(out_) / (stem + space.suffix + end);
  };
  const fs::path png = file("figure", ".png");
  image::write_png(png, image::grid(shown, 1 + k_, scale_, report::kFigureGap), app::picture_text({{"command", "neighbours"}}));
  write_file(file("figure", ".svg"),
             report::neighbour_figure(read_bytes(png), {one.w * scale_, one.h * scale_}, distances, k_));
  std::vector<plot::HistogramGroup> groups{{"samples", eval::nearest_distances(space.found, 0, samples_->size())}};
  if (held_out_)
    groups.push_back(
        {"held-out images", eval::nearest_distances(space.found, samples_->size(), held_out_->size())});
  write_file(file("histogram", ".svg"),
             plot::histogram("distance to the nearest training image", space.distance, groups, 40));
}

json NeighboursCommand::lists(const Space& space) const {
  json all = json::array();
  for (int64_t i = 0; i < samples_->size(); ++i) {
    json indices = json::array(), distances = json::array();
    for (int64_t rank = 0; rank < k_; ++rank) {
      indices.push_back(training_->source_index(space.found.of(i, rank).index));
      distances.push_back(space.found.of(i, rank).distance);
    }
    all.push_back({{"index", indices}, {"distance", distances}});
  }
  return all;
}

json NeighboursCommand::memorisation_json(const Space& space) const {
  const eval::Memorisation m =
      eval::memorisation(eval::nearest_distances(space.found, 0, samples_->size()),
                   eval::nearest_distances(space.found, samples_->size(), held_out_->size()), quantile_);
  return {{"n_held_out", m.held_out},
          {"sample_mean", m.sample_mean},
          {"sample_mean_se", m.sample_error},
          {"held_out_mean", m.held_out_mean},
          {"held_out_mean_se", m.held_out_error},
          {"quantile", m.quantile},
          {"threshold", m.threshold},
          {"meaningful", m.threshold > 0},  // nothing is nearer than 0
          {"share_below", m.share},
          {"share_below_se", m.share_error}};
}

json NeighboursCommand::result(const Space& space) const {
  json values = {{"distance", space.distance},
                 {"searched_in_double", space.found.searched_in_double},
                 {"seconds", space.seconds},
                 {"neighbours", lists(space)}};
  if (held_out_) values["memorisation"] = memorisation_json(space);
  return values;
}

void NeighboursCommand::write(const json& values) const {
  write_file(fs::path(out_) / "neighbours.json",
             values.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
}

void NeighboursCommand::print_space(const char* title, const json& space) const {
  fmt::print("{:<12} k = {}, {}; {:.1f} s, {} images searched again in double\n", title, k_,
             space["distance"].get<std::string>(), space["seconds"].get<double>(),
             space["searched_in_double"].get<int64_t>());
  if (!held_out_) return;
  const json& m = space["memorisation"];
  const auto number = [&](const char* key) { return m[key].is_number() ? m[key].get<double>() : NAN; };
  fmt::print("nearest      samples {} (n = {}), held-out images {} (n = {})\n",
             app::with_error(number("sample_mean"), number("sample_mean_se"), 4), samples_->size(),
             app::with_error(number("held_out_mean"), number("held_out_mean_se"), 4), held_out_->size());
  if (!m["meaningful"].get<bool>()) {
    fmt::print("memorised?   no answer: {:g} % of the held-out images are training images themselves\n",
               100 * quantile_);
    return;
  }
  fmt::print(
      "memorised?   {:.1f} % +- {:.1f} % of the samples are nearer than {:.4f}, where {:g} % of the held-out "
      "images are\n",
      100 * number("share_below"), 100 * number("share_below_se"), number("threshold"), 100 * quantile_);
}

void NeighboursCommand::print(const json& found) const {
  fmt::print("samples      {}{}\ntraining     {}\n", samples_->description(),
             source_.seeds.empty() ? "" : ", seeds " + source_.seeds, training_->description());
  if (held_out_) fmt::print("held out     {}\n", held_out_->description());
  print_space("pixels", found);
  if (found.contains("features")) {
    const json& network = found["features"]["network"];
    fmt::print("\nfeatures     {} ({}), {} dimensions\n", network["file"].get<std::string>(),
               network["kind"].get<std::string>(), network.value("dimensions", int64_t{0}));
    print_space("search", found["features"]);
  }
  fmt::print("written      {}\n", (fs::path(out_) / "figure.svg").string());
}

int NeighboursCommand::run(OptionSet& options) {
  check(options);
  set_thread_count(static_cast<int>(threads_));
  open();
  const auto network = features_.given() ? features_.make("", device_, 64) : nullptr;
  if (network) app::probe(*network, training_->image_shape());
  make_folder(out_);
  const Space pixels = pixel_space();
  json values = result(pixels);
  values.update({{"training", training_->description()},
                 {"samples", samples_->description()},
                 {"n_training", training_->size()},
                 {"n_samples", samples_->size()},
                 {"k", k_},
                 {"parameters", options.to_json()}});
  if (!source_.seeds.empty()) values["seeds"] = source_.seeds;
  if (held_out_) values["held_out"] = held_out_->description();
  write(values);  // before anything else can fail
  draw(pixels);
  if (network) {
    const Space features = feature_space(*network);
    values["features"] = result(features);
    values["features"]["network"] = network->description();
    write(values);
    draw(features);
  }
  if (json_) {
    values.erase("neighbours");  // they are in the file
    if (network) values["features"].erase("neighbours");
    values["out"] = out_;
    app::print_json(values);
  } else {
    print(values);
  }
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_neighbours() { return std::make_unique<NeighboursCommand>(); }

}  // namespace mdsm::cli

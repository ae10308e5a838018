// mdsm neighbours: samples beside the training images nearest to them, and whether they are nearer than they
// should be.
#include "eval/neighbours.h"

#include <chrono>

#include "cli/command.h"
#include "cli/model_use.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/progress.h"
#include "core/threads.h"
#include "data/data_options.h"
#include "eval/sample_source.h"
#include "image/image.h"
#include "report/histogram.h"
#include "report/neighbour_figure.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

class NeighboursCommand : public Command {
 public:
  const char* name() const override { return "neighbours"; }
  const char* summary() const override {
    return "Find the training images nearest to samples; a test of memorisation";
  }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  void open();
  void check_folder() const;
  void draw(const Neighbours& found) const;
  json result(const Neighbours& found) const;
  void print(const json& found) const;

  DataOptions data_;
  std::string samples_path_, held_out_source_, out_ = "neighbours";
  int64_t k_ = 10, held_out_limit_ = 1000, rows_ = 16, scale_ = 2, threads_ = 0, seed_ = 0;
  double quantile_ = 0.05, seconds_ = 0;
  bool no_held_out_ = false, force_ = false, json_ = false;
  std::unique_ptr<Dataset> training_, samples_, held_out_;
  Tensor images_;  // samples, then held-out images
};

void NeighboursCommand::declare(OptionSet& options) {
  options.group("Samples");
  options.add("samples", samples_path_, "folder of mdsm sample, samples.npy, or images")
      .meta("FOLDER|FILE")
      .positional()
      .required();
  declare_data_options(options, data_);
  options.add("held-out", held_out_source_, "images to compare with; without it the test split of --data")
      .meta("SOURCE");
  options.add("held-out-limit", held_out_limit_, "only the first so many of those; 0 = all").range(0);
  options.add("no-held-out", no_held_out_, "neighbours only, no test of memorisation");
  options.group("Search");
  options.add("k", k_, "neighbours of each sample").range(1, 1000);
  options
      .add("quantile", quantile_,
           "of the held-out images' nearest distances, against which samples are counted")
      .above(0);
  options.add("seed", seed_, "of data drawn by chance").range(0, 1e9);
  options.add("threads", threads_, "CPU threads; 0 takes all").range(0, 1024);
  options.group("Output");
  options.add("out", out_, "folder for figure.png, figure.svg, histogram.svg and neighbours.json")
      .meta("FOLDER");
  options.add("rows", rows_, "samples in the figure").range(1, 1000);
  options.add("scale", scale_, "size of a pixel in the figure").range(1, 16);
  options.add("force", force_, "replace the results in the folder").command_line_only();
  options.add("json", json_, "print JSON for machines").command_line_only();
  options.example("mdsm neighbours samples --data fashion-mnist --out neighbours");
}

void NeighboursCommand::open() {
  if (no_held_out_ && !held_out_source_.empty())
    fail_usage("leave one out", "--held-out and --no-held-out exclude each other");
  data_.seed = static_cast<uint64_t>(seed_);
  training_ = open_dataset(data_);
  samples_ = open_samples(samples_path_);
  if (!no_held_out_) {
    DataOptions options = data_;
    if (held_out_source_.empty() && data_.split == "test")
      fail_usage("give --held-out, or add --no-held-out", "--split test leaves no images to compare with");
    if (!held_out_source_.empty()) options.source = held_out_source_;
    options.split = "test";
    options.limit = held_out_limit_;
    held_out_ = open_dataset(options);
    if (held_out_source_.empty() && held_out_->description() == training_->description())
      fail_usage("give --held-out, or add --no-held-out", "{}: has no test images of its own", data_.source);
  }
  const Shape one = training_->image_shape();
  for (const auto* set : {&samples_, &held_out_})
    if (*set && (*set)->image_shape() != one)
      fail("fit the training images with --pad, --crop, --resize or --colour",
           "{}: images of {} cannot be compared with those of {}", (*set)->description(),
           (*set)->image_shape().text(), one.text());
  const int64_t n = samples_->size(), m = held_out_ ? held_out_->size() : 0;
  images_ = Tensor(one.with_n(n + m));
  for (int64_t i = 0; i < n; ++i) samples_->read(i, images_.view().image(i));
  for (int64_t i = 0; i < m; ++i) held_out_->read(i, images_.view().image(n + i));
}

void NeighboursCommand::check_folder() const {
  std::error_code error;
  if (fs::exists(out_, error) && !fs::is_directory(out_, error)) fail("name a folder", "{}: is a file", out_);
  check_output(fs::path(out_) / "neighbours.json", force_);
}

void NeighboursCommand::draw(const Neighbours& found) const {
  const int64_t rows = std::min(rows_, samples_->size());
  const Shape one = training_->image_shape();
  Tensor shown(one.with_n(rows * (1 + k_)));
  std::vector<double> distances;
  for (int64_t row = 0; row < rows; ++row) {
    samples_->read(row, shown.view().image(row * (1 + k_)));
    for (int64_t rank = 0; rank < k_; ++rank) {
      training_->read(found.of(row, rank).index, shown.view().image(row * (1 + k_) + 1 + rank));
      distances.push_back(found.of(row, rank).distance);
    }
  }
  const fs::path png = fs::path(out_) / "figure.png";
  write_png(png, grid(shown, 1 + k_, scale_, kFigureGap), picture_text({{"command", "neighbours"}}));
  write_file(fs::path(out_) / "figure.svg", neighbour_figure(read_bytes(png), one.w * scale_, distances, k_));
  std::vector<HistogramGroup> groups{{"samples", nearest_distances(found, 0, samples_->size())}};
  if (held_out_)
    groups.push_back({"held-out images", nearest_distances(found, samples_->size(), held_out_->size())});
  write_file(fs::path(out_) / "histogram.svg",
             histogram("distance to the nearest training image", "L2 distance, pixels in [0,1]", groups, 40));
}

json NeighboursCommand::result(const Neighbours& found) const {
  json lists = json::array();
  for (int64_t i = 0; i < samples_->size(); ++i) {
    json indices = json::array(), distances = json::array();
    for (int64_t rank = 0; rank < k_; ++rank) {
      indices.push_back(found.of(i, rank).index);
      distances.push_back(found.of(i, rank).distance);
    }
    lists.push_back({{"index", indices}, {"distance", distances}});
  }
  json values = {{"training", training_->description()},
                 {"samples", samples_->description()},
                 {"n_training", training_->size()},
                 {"n_samples", samples_->size()},
                 {"k", k_},
                 {"distance", "L2, pixels in [0,1], exact"},
                 {"searched_in_double", found.searched_in_double},
                 {"seconds", seconds_},
                 {"neighbours", lists}};
  if (!held_out_) return values;
  const Memorisation m =
      memorisation(nearest_distances(found, 0, samples_->size()),
                   nearest_distances(found, samples_->size(), held_out_->size()), quantile_);
  values["held_out"] = held_out_->description();
  values["memorisation"] = {{"n_held_out", m.held_out},
                            {"sample_mean", m.sample_mean},
                            {"sample_mean_se", m.sample_error},
                            {"held_out_mean", m.held_out_mean},
                            {"held_out_mean_se", m.held_out_error},
                            {"quantile", m.quantile},
                            {"threshold", m.threshold},
                            {"share_below", m.share},
                            {"share_below_se", m.share_error}};
  return values;
}

void NeighboursCommand::print(const json& found) const {
  fmt::print("samples      {}\ntraining     {}\n", samples_->description(), training_->description());
  fmt::print(
      "search       k = {}, L2 of pixels in [0,1], exact; {:.1f} s, {} images searched again in double\n", k_,
      seconds_, found["searched_in_double"].get<int64_t>());
  if (held_out_) {
    const json& m = found["memorisation"];
    const auto number = [&](const char* key) { return m[key].get<double>(); };
    fmt::print("held out     {}\n", held_out_->description());
    fmt::print("nearest      samples {:.4f} +- {:.4f} (n = {}), held-out images {:.4f} +- {:.4f} (n = {})\n",
               number("sample_mean"), number("sample_mean_se"), samples_->size(), number("held_out_mean"),
               number("held_out_mean_se"), held_out_->size());
    fmt::print(
        "memorised?   {:.1f} % +- {:.1f} % of the samples are nearer than {:.4f}, where {:g} % of the "
        "held-out "
        "images are\n",
        100 * number("share_below"), 100 * number("share_below_se"), number("threshold"), 100 * quantile_);
  }
  fmt::print("written      {}\n", (fs::path(out_) / "figure.svg").string());
}

int NeighboursCommand::run(OptionSet& options) {
  if (!(quantile_ < 1)) fail_usage("use a number between 0 and 1", "--quantile: {}", quantile_);
  set_thread_count(static_cast<int>(threads_));
  open();
  if (k_ > training_->size())
    fail_usage("use fewer", "{} neighbours among {} training images", k_, training_->size());
  check_folder();
  const auto start = std::chrono::steady_clock::now();
  const Neighbours found = nearest_neighbours(*training_, images_, k_);
  seconds_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  json values = result(found);
  values["parameters"] = options.to_json();
  make_folder(out_);
  draw(found);
  write_file(fs::path(out_) / "neighbours.json",
             values.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  if (json_) {
    values.erase("neighbours");  // they are in the file
    values["out"] = out_;
    print_json(values);
  } else {
    print(values);
  }
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_neighbours() { return std::make_unique<NeighboursCommand>(); }

}  // namespace mdsm::cli

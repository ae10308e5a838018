// mdsm score: a score, a p-value and a verdict for each image, by a detector that was fitted to good ones.
#include "app/score.h"

#include <algorithm>

#include "cli/command.h"
#include "cli/picture_options.h"
#include "core/error.h"
#include "core/progress.h"
#include "data/data_options.h"

namespace mdsm::cli {
namespace {

enum class Format { table, csv, json };
constexpr auto enum_names(Format) {
  return names_of<Format>({{Format::table, "table"}, {Format::csv, "csv"}, {Format::json, "json"}});
}

constexpr int kOutliersFound = 3;  // exit code

class Score : public Command {
 public:
  const char* name() const override { return "score"; }
  const char* summary() const override {
    return "Score each image by itself: does it belong to those a detector was fitted to?";
  }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  int score();

  bool fit_ = false;
  app::FitDetectorOptions fitting_;
  app::ScoreOptions scoring_;
  Format format_ = Format::table;
};

void Score::declare(OptionSet& options) {
  options.group("Images");
  options
      .add("images", scoring_.images,
           "pictures to score: files and folders; - reads their names from standard input, one a line")
      .meta("IMAGES")
      .positional();
  fitting_.use.declare_model(options);
  data::declare_data_options(options, fitting_.data, {.random_limit = true});
  options.group("Detector");
  options.add("detector", scoring_.detector, "the detector to score with").meta("FILE");
  options.add("fit", fit_, "make a detector of the images of --data, which are as they should be")
      .command_line_only();
  options.add("out", fitting_.out, "--fit: the detector's file").meta("FILE");
  options.add("rate", fitting_.detector.rate, "--fit: share of good images that may be called outliers")
      .range(1e-5, 0.5);
  options.add("hold-out", fitting_.detector.hold_out, "--fit: share of the images that sets the threshold")
      .range(0.05, 0.95);
  options.add("by", fitting_.measures, "--fit: the measures that make up the score, separated by commas")
      .meta("LIST");
  options.add("noise-levels", fitting_.levels, "--fit: noise levels, separated by commas")
      .meta("LIST")
      .formerly("levels");
  options.add("draws", fitting_.detector.features.draws, "--fit: draws of the noise at each level")
      .range(1, 1000);
  options.add("components", fitting_.detector.mixture.components, "--fit: Gaussians of the density of norms")
      .range(1, 1000);
  options.add("seed", fitting_.seed, "of the noise, the split and random subsets").range(0, 1e9);
  fitting_.use.declare_engine(options);
  options.group("Output");
  options.add("format", format_, "of the scores");
  options.add("heatmap", scoring_.heatmap, "folder for pictures that show where an image is strange")
      .meta("FOLDER");
  options.add("force", fitting_.force, "replace files that exist").command_line_only();
  options.example("mdsm score --fit --data good --model fashion-mnist --out detector.safetensors");
  options.example("mdsm score photos new.png --detector detector.safetensors --heatmap heat");
  options.example("find . -name '*.png' | mdsm score - --detector detector.safetensors --format csv");
}

void refuse(const OptionSet& options, std::initializer_list<const char*> names, const char* hint,
            const char* when) {
  for (const char* name : names)
    if (options.given(name)) fail_usage(hint, "--{} has no meaning {}", name, when);
}

int Score::run(OptionSet& options) {
  if (as_json && options.given("format") && format_ != Format::json)
    fail_usage("leave one out", "--json and --format {} exclude each other", to_string(format_));
  if (as_json) format_ = Format::json;
  if (fit_) {
    refuse(options, {"detector", "heatmap"}, "leave it out", "with --fit");
    if (!scoring_.images.empty())
      fail_usage("name the good images with --data", "mdsm score --fit: pictures given by place");
    if (fitting_.data.source.empty() || fitting_.out.empty())
      fail_usage("give the good images with --data and the detector's file with --out",
                 "mdsm score --fit: {} given", fitting_.data.source.empty() ? "no images" : "no file");
    if (format_ == Format::csv) fail_usage("use table or json", "--format csv has no meaning with --fit");
    show(app::fit_detector(fitting_), format_ == Format::json);
    return 0;
  }
  refuse(options, {"out", "rate", "hold-out", "by", "noise-levels", "draws", "components"},
         "use it with --fit", "without --fit");
  refuse(options, {"crop", "resize", "pad", "colour"}, "give it to mdsm score --fit",
         "here: the detector knows how images are fitted");
  if (scoring_.detector.empty())
    fail_usage("make one with mdsm score --fit, and name it with --detector", "no detector given");
  scoring_.data = fitting_.data;
  scoring_.data.seed = static_cast<uint64_t>(fitting_.seed);
  scoring_.use = fitting_.use;
  scoring_.force = fitting_.force;
  return score();
}

int Score::score() {
  const bool table = format_ == Format::table, csv = format_ == Format::csv;
  bool first = true;
  const app::ScoreResult result = app::run_score(scoring_, [&](const app::ScoredImage& one) {
    if (format_ == Format::json) return;
    Progress::clear_line();
    if (first) fmt::print("{}", table ? app::table_head() : app::csv_head());
    first = false;
    fmt::print("{}", table ? app::table_row(one) : app::csv_row(one));
  });
  Progress::clear_line();
  if (table) fmt::print("{}", app::table_end(result));
  if (!table && !csv) app::print_json(to_json(result));
  if (result.unreadable() > 0) {
    const auto bad = std::ranges::find_if(result.images, [](const auto& one) { return !one.found; });
    fail("the others are scored", "{} of {} images cannot be read, the first: {}", result.unreadable(),
         result.images.size(), bad->problem);
  }
  return result.outliers() > 0 ? kOutliersFound : 0;
}

}  // namespace

std::unique_ptr<Command> make_score() { return std::make_unique<Score>(); }

}  // namespace mdsm::cli

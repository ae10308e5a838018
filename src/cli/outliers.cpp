// mdsm outliers: how well a model tells images of other kinds from its own.
#include "eval/outliers.h"

#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/command.h"
#include "app/model_use.h"
#include "app/output.h"
#include "core/error.h"
#include "core/progress.h"
#include "core/random.h"
#include "data/data_options.h"
#include "eval/auroc.h"
#include "eval/energies.h"
#include "plot/histogram.h"
#include "train/run_folder.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

std::vector<double> levels_of(const std::string& text) {
  std::vector<double> levels;
  for (size_t first = 0; first <= text.size();) {
    const size_t comma = std::min(text.find(',', first), text.size());
    double value = 0;
    const char *begin = text.data() + first, *end = text.data() + comma;
    const auto [at, error] = std::from_chars(begin, end, value);
    if (error != std::errc() || at != end || !(value >= 0 && value <= 1000))
      fail_usage("write numbers from 0 to 1000 as in 0.1,0.2,0.4", "--levels: '{}'", text);
    levels.push_back(value);
    first = comma + 1;
  }
  return levels;
}

struct Group {
  std::string name, description;
  std::vector<eval::OutlierScore> scores;
};

class Outliers : public Command {
 public:
  const char* name() const override { return "outliers"; }
  const char* summary() const override {
    return "Tell images of other kinds from those of the model: AUROC by score";
  }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  std::unique_ptr<data::Dataset> open(const std::string& source, const network::Spec& spec) const;
  eval::OutlierFeatures features(engine::TrainableEnergy& engine, const data::Dataset& data, const std::string& label) const;
  std::vector<std::string> files() const;
  json table(const Group& inside, const std::vector<Group>& outside) const;
  void draw(const Group& inside, const std::vector<Group>& outside) const;
  void print(const json& found) const;

  app::ModelUse use_;
  data::DataOptions data_;
  eval::FeatureOptions features_;
  eval::ScoreOptions scores_;
  std::string inside_, levels_ = "0,0.05,0.1,0.2,0.3,0.5,0.8,1.2,2", covariance_ = "full", kind_ = "both",
                       out_ = "outliers";
  std::vector<std::string> outside_;
  int64_t seed_ = 0, fit_ = 0;
  bool force_ = false, json_ = false;
};

void Outliers::declare(OptionSet& options) {
  use_.declare_model(options);
  data_.split = data::Split::test;
  options.group("Images");
  options.add("in", inside_, "source of ordinary images, as for --data of other commands")
      .meta("SOURCE")
      .required();
  options.add("against", outside_, "source of outliers; give it several times for several")
      .meta("SOURCE")
      .required();
  options.add("fit", fit_, "ordinary images that only fit the density models; 0 = half of them").range(0);
  data::declare_data_options(options, data_, {.source = false, .random_limit = true});
  options.group("Scores");
  options.add("levels", levels_, "noise levels of the features, separated by commas").meta("LIST");
  options.add("features", kind_, "at each level: score norms, denoising errors, or both")
      .choices({"norms", "errors", "both"});
  options.add("draws", features_.draws, "of the noise; every feature is a mean over them").range(1, 65535);
  options.add("components", scores_.mixture.components, "Gaussians of the mixture").range(1, 1000);
  options.add("covariance", covariance_, "of each Gaussian").choices({"full", "diagonal"});
  options.add("k", scores_.neighbours, "the distance to the k-th nearest neighbour is a score").range(1, 1e6);
  options.add("seed", seed_, "of the noise, the split, the mixture, and images drawn by chance")
      .range(0, 1e9);
  use_.declare_engine(options);
  options.group("Output");
  options.add("out", out_, "folder for outliers.json, roc-*.svg and histogram-*.svg").meta("FOLDER");
  options.add("force", force_, "replace the results in the folder").command_line_only();
  options.add("json", json_, "print JSON for machines").command_line_only();
  options.example(
      "mdsm outliers --model runs/00000 --in fashion-mnist --against mnist --against noise.npy --out "
      "outliers");
}

std::unique_ptr<data::Dataset> Outliers::open(const std::string& source, const network::Spec& spec) const {
  data::DataOptions options = data_;
  options.source = source;
  options.seed = static_cast<uint64_t>(seed_);
  auto data = data::open_dataset(options);
  eval::check_fits(spec.input(1), *data);
  return data;
}

eval::OutlierFeatures Outliers::features(engine::TrainableEnergy& engine, const data::Dataset& data, const std::string& label) const {
  Progress progress(label, data.size() * evaluations_per_image(features_), "evaluations");
  return eval::outlier_features(engine, data, features_, [&](int64_t done) { progress.update(done); });
}

std::vector<std::string> Outliers::files() const {
  std::vector<std::string> names{"outliers.json"};
  for (const char* score : {"energy", "objective", "mixture", "neighbours"})
    names.push_back(fmt::format("histogram-{}.svg", score));
  for (size_t i = 1; i <= outside_.size(); ++i) names.push_back(fmt::format("roc-{}.svg", i));
  return names;
}

json Outliers::table(const Group& inside, const std::vector<Group>& outside) const {
  json rows = json::array();
  for (const Group& group : outside)
    for (size_t i = 0; i < group.scores.size(); ++i) {
      const eval::Auroc a = eval::auroc(inside.scores[i].values, group.scores[i].values);
      rows.push_back({{"out", group.name},
                      {"score", group.scores[i].name},
                      {"auroc", a.area},
                      {"se", a.error},
                      {"low", a.low},
                      {"high", a.high},
                      {"n_in", a.inside},
                      {"n_out", a.outside}});
    }
  return rows;
}

void Outliers::draw(const Group& inside, const std::vector<Group>& outside) const {
  const fs::path out = out_;
  for (size_t i = 0; i < inside.scores.size(); ++i) {
    std::vector<plot::HistogramGroup> groups{{train::source_name(inside.name), inside.scores[i].values}};
    for (const Group& group : outside) groups.push_back({train::source_name(group.name), group.scores[i].values});
    const std::string& score = inside.scores[i].name;
    write_file(out / fmt::format("histogram-{}.svg", score),
               plot::histogram(fmt::format("{}: higher is stranger", score), score, groups));
  }
  for (size_t g = 0; g < outside.size(); ++g) {
    plot::PlotPanel panel{"outliers found", false, {}, plot::Corner::lower_right};
    for (size_t i = 0; i < inside.scores.size(); ++i) {
      const auto& values = outside[g].scores[i].values;
      plot::PlotSeries series{
          fmt::format("{} {:.3f}", inside.scores[i].name, eval::auroc(inside.scores[i].values, values).area),
          {},
          {},
          plot::group_colour(i),
          {},
          {}};
      for (const eval::RocPoint& point : eval::roc_curve(inside.scores[i].values, values)) {
        series.x.push_back(point.false_alarms);
        series.y.push_back(point.found);
      }
      panel.series.push_back(std::move(series));
    }
    write_file(out / fmt::format("roc-{}.svg", g + 1),
               plot::svg({fmt::format("{} against {}", train::source_name(inside.name), train::source_name(outside[g].name)),
                    "false alarms",
                    {panel}}));
  }
}

void Outliers::print(const json& found) const {
  fmt::print("in           {} images, {} more fit the density models; {}\n", found["n_in"].get<int64_t>(),
             found["n_fit"].get<int64_t>(), found["in"].get<std::string>());
  for (const json& group : found["out"]) fmt::print("out          {}\n", group.get<std::string>());
  fmt::print("noise        sigma0 = {:g} for energy and objective, {} for the features; {} draw{}, seed {}\n",
             found["sigma0"].get<double>(), levels_, features_.draws, features_.draws == 1 ? "" : "s", seed_);
  fmt::print("density      of {}; mixture of {} ({} covariance); neighbours k = {}\n\n",
             kind_ == "both" ? "norms and errors" : kind_, scores_.mixture.components, covariance_,
             scores_.neighbours);
  fmt::print("{:<28} {:<12} {:>7}  95 % (DeLong)      n in  n out\n", "out", "score", "AUROC");
  for (const json& row : found["table"]) {
    const double low = row["low"].get<double>(), high = row["high"].get<double>();
    fmt::print("{:<28} {:<12} {:>7.4f}  {:<16}  {:>5}  {:>5}\n", row["out"].get<std::string>(),
               row["score"].get<std::string>(), row["auroc"].get<double>(),
               std::isfinite(low) ? fmt::format("{:.4f} to {:.4f}", low, high) : "no interval",
               row["n_in"].get<int64_t>(), row["n_out"].get<int64_t>());
  }
  fmt::print("\nwritten      {}\n", (fs::path(out_) / "outliers.json").string());
}

int Outliers::run(OptionSet& options) {
  features_.levels = levels_of(levels_);
  features_.kind = kind_ == "norms"    ? eval::ScoreFeatures::norms
                   : kind_ == "errors" ? eval::ScoreFeatures::errors
                                       : eval::ScoreFeatures::both;
  features_.seed = scores_.mixture.seed = static_cast<uint64_t>(seed_);
  features_.batch = use_.batch;
  scores_.mixture.full = covariance_ == "full";
  const network::Model model = use_.load();
  const network::Spec& spec = model.parameters.spec();
  const auto inside = open(inside_, spec);
  std::vector<std::unique_ptr<data::Dataset>> outside;
  for (const std::string& source : outside_) outside.push_back(open(source, spec));
  const int64_t fit = fit_ > 0 ? fit_ : inside->size() / 2;
  if (fit < 1 || fit >= inside->size())
    fail_usage("leave some to compare with", "{} of {} ordinary images to fit the density models", fit,
               inside->size());
  app::check_outputs(out_, files(), force_);
  const auto engine = use_.make(model, use_.batch);

  const auto order =
      permutation({static_cast<uint64_t>(seed_), Purpose::shuffle}, static_cast<uint32_t>(inside->size()));
  const eval::OutlierFeatures all = features(*engine, *inside, "ordinary");
  const std::span<const uint32_t> rows(order);
  const eval::OutlierModel density(eval::chosen(all, rows.first(static_cast<size_t>(fit))).score, scores_);
  const Group ordinary{inside_, inside->description(),
                       eval::outlier_scores(eval::chosen(all, rows.subspan(static_cast<size_t>(fit))), density)};
  std::vector<Group> strange;
  json descriptions = json::array();
  for (size_t i = 0; i < outside.size(); ++i) {
    strange.push_back(
        {outside_[i], outside[i]->description(),
         eval::outlier_scores(features(*engine, *outside[i], fmt::format("outliers {}", i + 1)), density)});
    descriptions.push_back(outside[i]->description());
  }
  Progress::clear_line();
  json parameters = options.to_json();
  parameters.update(app::model_parameters(use_.model, model));
  json found = {
      {"parameters", parameters},
      {"in", inside->description()},
      {"out", descriptions},
      {"n_in", inside->size() - fit},
      {"n_fit", fit},
      {"sigma0", spec.sigma0},
      {"interval",
       "95 %, DeLong; where all pairs or none are in order, 0.025^(1/min(n_in, n_out)) from the end"},
      {"table", table(ordinary, strange)}};
  make_folder(out_);
  draw(ordinary, strange);
  write_file(fs::path(out_) / "outliers.json",
             found.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  if (json_)
    app::print_json(found);
  else
    print(found);
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_outliers() { return std::make_unique<Outliers>(); }

}  // namespace mdsm::cli

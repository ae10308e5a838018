#include "app/outliers.h"

#include "app/output.h"
#include "core/error.h"
#include "core/progress.h"
#include "core/random.h"
#include "eval/energies.h"
#include "report/outlier_plots.h"
#include "train/run_folder.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

std::string histogram_name(const std::string& score) { return fmt::format("histogram-{}.svg", score); }
std::string roc_name(size_t number) { return fmt::format("roc-{}.svg", number); }

std::vector<std::string> files(const OutliersOptions& options) {
  std::vector<std::string> names{"outliers.json"};
  for (const std::string& score : names_in_order<eval::ScoreKind>()) names.push_back(histogram_name(score));
  for (size_t i = 1; i <= options.outside.size(); ++i) names.push_back(roc_name(i));
  return names;
}

std::unique_ptr<data::Dataset> open(const OutliersOptions& options, const std::string& source,
                                    const network::Model& model) {
  data::DataOptions data = options.data;
  data.source = source;
  data.seed = static_cast<uint64_t>(options.seed);
  auto images = open_images(model, data);
  image_shape(model, *images);  // says when they do not fit
  return images;
}

eval::OutlierFeatures features(engine::EnergyModel& model, const data::Dataset& images,
                               const eval::FeatureOptions& options, const std::string& label) {
  Progress progress(label, images.size() * eval::evaluations_per_image(options), "evaluations");
  return eval::outlier_features(model, images, options, [&](int64_t done) { progress.update(done); });
}

// The sets of images, opened before the work.
struct InsideAndOutside {
  std::unique_ptr<data::Dataset> inside;
  std::unique_ptr<data::Dataset> training;  // to fit the density models to, where asked for
  std::vector<std::unique_ptr<data::Dataset>> outside;
  int64_t fit = 0;  // of those inside
};

std::unique_ptr<data::Dataset> open_training(const OutliersOptions& options, const network::Model& model) {
  if (options.fit_train == 0) return nullptr;
  OutliersOptions training = options;
  training.data.split = data::Split::train;
  training.data.random_limit = true;
  training.data.limit = options.fit_train;
  auto images = open(training, options.inside, model);
  if (!images->part())
    fail_usage("use --fit, which takes some of the images themselves", "--fit-train: {} has no training part",
               options.inside);
  return images;
}

InsideAndOutside open_all(const OutliersOptions& options, const network::Model& model) {
  InsideAndOutside images{open(options, options.inside, model), open_training(options, model), {}, 0};
  for (const std::string& source : options.outside) {
    images.outside.push_back(open(options, source, model));
    eval::check_fits(images.inside->image_shape(), *images.outside.back());
  }
  if (images.training) {
    eval::check_fits(images.inside->image_shape(), *images.training);
    return images;
  }
  const int64_t n = images.inside->size();
  images.fit = options.fit > 0 ? options.fit : n / 2;
  if (images.fit < 1 || images.fit >= n)
    fail_usage("leave some to compare with", "{} of {} ordinary images to fit the density models", images.fit,
               n);
  return images;
}

struct Scored {
  report::ScoredImages inside;
  std::vector<report::ScoredImages> outside;
};

// The density models are fitted to some of the ordinary images, chosen at random; the others are compared.
Scored score(engine::EnergyModel& model, const InsideAndOutside& images, const OutliersOptions& options) {
  const auto order = permutation({static_cast<uint64_t>(options.seed), Purpose::shuffle},
                                 static_cast<uint32_t>(images.inside->size()));
  const std::span<const uint32_t> rows(order);
  const auto fit = static_cast<size_t>(images.fit);
  const eval::OutlierFeatures all = features(model, *images.inside, options.features, "ordinary");
  const eval::OutlierFeatures fitting = images.training
                                            ? features(model, *images.training, options.features, "fitting")
                                            : eval::chosen(all, rows.first(fit));
  const eval::OutlierModel density(fitting, options.scores);
  Scored scored{{train::source_name(options.inside),
                 eval::outlier_scores(eval::chosen(all, rows.subspan(fit)), density)},
                {}};
  for (size_t i = 0; i < images.outside.size(); ++i)
    scored.outside.push_back({train::source_name(options.outside[i]),
                              eval::outlier_scores(features(model, *images.outside[i], options.features,
                                                            fmt::format("outliers {}", i + 1)),
                                                   density)});
  return scored;
}

std::vector<OutliersRow> table(const Scored& scored, const std::vector<std::string>& sources) {
  std::vector<OutliersRow> rows;
  for (size_t g = 0; g < sources.size(); ++g)
    for (size_t i = 0; i < scored.inside.scores.size(); ++i)
      rows.push_back({sources[g], scored.inside.scores[i].kind,
                      eval::auroc(scored.inside.scores[i].values, scored.outside[g].scores[i].values)});
  return rows;
}

void draw(const Scored& scored, const fs::path& out) {
  for (size_t i = 0; i < scored.inside.scores.size(); ++i)
    write_file(out / histogram_name(to_string(scored.inside.scores[i].kind)),
               report::score_histogram(scored.inside, scored.outside, i));
  for (size_t g = 0; g < scored.outside.size(); ++g)
    write_file(out / roc_name(g + 1), report::roc_plot(scored.inside, scored.outside[g]));
}

OutliersOptions completed(OutliersOptions options) {
  options.features.levels = eval::parse_levels(options.levels);
  options.features.seed = options.scores.mixture.seed = static_cast<uint64_t>(options.seed);
  options.features.batch = options.use.batch;
  return options;
}

}  // namespace

OutliersResult run_outliers(const OutliersOptions& given) {
  OutliersResult result;
  result.options = completed(given);
  const OutliersOptions& options = result.options;
  const network::Model model = options.use.load();
  const network::Spec& spec = model.parameters.spec();
  const InsideAndOutside images = open_all(options, model);
  check_outputs(options.out, files(options), options.force);
  const auto engine = options.use.make(model, options.use.batch, image_shape(model, *images.inside));
  const Scored scored = score(*engine, images, options);
  Progress::clear_line();
  result.parameters = options.recorded;
  result.parameters.update(model_parameters(options.use.model, model));
  result.inside = images.inside->description();
  for (const auto& one : images.outside) result.outside.push_back(one->description());
  result.compared = images.inside->size() - images.fit;
  result.fitted = images.training ? images.training->size() : images.fit;
  result.sigma0 = spec.sigma0;
  result.table = table(scored, options.outside);
  make_folder(options.out);
  draw(scored, options.out);
  write_json(fs::path(options.out) / "outliers.json", to_json(result));
  return result;
}

json to_json(const OutliersResult& result) {
  json rows = json::array();
  for (const OutliersRow& row : result.table)
    rows.push_back({{"out", row.outside},
                    {"score", to_string(row.score)},
                    {"auroc", row.auroc.area},
                    {"se", row.auroc.error},
                    {"low", row.auroc.low},
                    {"high", row.auroc.high},
                    {"n_in", row.auroc.inside},
                    {"n_out", row.auroc.outside}});
  return {{"parameters", result.parameters},
          {"in", result.inside},
          {"out", result.outside},
          {"n_in", result.compared},
          {"n_fit", result.fitted},
          {"sigma0", result.sigma0},
          {"interval",
           "95 %, DeLong; where all pairs or none are in order, 0.025^(1/min(n_in, n_out)) from the end"},
          {"table", rows}};
}

void print(const OutliersResult& result) {
  const OutliersOptions& options = result.options;
  fmt::print("in           {} images, {} more fit the density models; {}\n", result.compared, result.fitted,
             result.inside);
  for (const std::string& description : result.outside) fmt::print("out          {}\n", description);
  fmt::print("noise        sigma0 = {:g} for energy and objective, {} for the features; {} draw{}, seed {}\n",
             result.sigma0, options.levels, options.features.draws, options.features.draws == 1 ? "" : "s",
             options.seed);
  fmt::print("density      of {}; mixture of {} ({} covariance); neighbours k = {}\n\n",
             options.features.kind == eval::ScoreFeatures::both ? "norms and errors"
                                                                : to_string(options.features.kind),
             options.scores.mixture.components, to_string(options.scores.mixture.covariance),
             options.scores.neighbours);
  fmt::print("{:<28} {:<12} {:>7}  95 % (DeLong)      n in  n out\n", "out", "score", "AUROC");
  for (const OutliersRow& row : result.table) {
    const eval::Auroc& a = row.auroc;
    fmt::print("{:<28} {:<12} {:>7.4f}  {:<16}  {:>5}  {:>5}\n", row.outside, to_string(row.score), a.area,
               std::isfinite(a.low) ? fmt::format("{:.4f} to {:.4f}", a.low, a.high) : "no interval",
               a.inside, a.outside);
  }
  fmt::print("\nwritten      {}\n", (fs::path(options.out) / "outliers.json").string());
}

}  // namespace mdsm::app

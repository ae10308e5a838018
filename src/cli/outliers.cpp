// mdsm outliers: how well a model tells images of other kinds from its own.
#include "app/outliers.h"

#include "cli/command.h"
#include "cli/show.h"
#include "core/error.h"
#include "data/data_options.h"

namespace mdsm::cli {
namespace {

class Outliers : public Command {
 public:
  Outliers() { job_.data.split = data::Split::test; }
  const char* name() const override { return "outliers"; }
  const char* summary() const override {
    return "Tell images of other kinds from those of the model: AUROC by score";
  }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  app::OutliersOptions job_;
};

void Outliers::declare(OptionSet& options) {
  job_.use.declare_model(options);
  options.group("Images");
  options.add("data", job_.inside, "ordinary images, of the kind that the model knows")
      .meta("SOURCE")
      .required()
      .not_in_environment()
      .formerly("in");
  options.add("against", job_.outside, "source of outliers; give it several times for several")
      .meta("SOURCE")
      .required();
  options.add("fit-images", job_.fit, "ordinary images that only fit the density models; 0 = half of them")
      .range(0)
      .formerly("fit");
  options
      .add("fit-train", job_.fit_train,
           "so many images of the training part fit the density models instead; all others are compared")
      .range(0);
  data::declare_data_options(options, job_.data, {.source = false, .random_limit = true});
  options.group("Scores");
  options.add("noise-levels", job_.levels, "noise levels of the features, separated by commas")
      .meta("LIST")
      .formerly("levels");
  options.add("measures", job_.features.kind, "at each level: score norms, denoising errors, or both")
      .formerly("features");
  options.add("draws", job_.features.draws, "of the noise; every feature is a mean over them")
      .range(1, 65535);
  options.add("components", job_.scores.mixture.components, "Gaussians of the mixture").range(1, 1000);
  options.add("covariance", job_.scores.mixture.covariance,
              "of each Gaussian: full, or diagonal (off-diagonal terms 0)");
  options.add("k", job_.scores.neighbours, "neighbours: the distance to the k-th nearest is a score")
      .range(1, 1e6);
  options.add("seed", job_.seed, "of the noise, the split, the mixture, and random subsets").range(0, 1e9);
  job_.use.declare_engine(options);
  options.group("Output");
  options.add("out", job_.out, "folder for outliers.json, roc-*.svg and histogram-*.svg").meta("FOLDER");
  options.add("force", job_.force, "replace the results in the folder").command_line_only();
  options.example(
      "mdsm outliers --model runs/00000 --data fashion-mnist --against mnist --against noise.npy --out "
      "outliers");
}

int Outliers::run(OptionSet& options) {
  if (job_.fit_train > 0 && options.given("fit-images"))
    fail_usage("choose one", "--fit-images and --fit-train exclude each other");
  if (job_.fit_train > 0 && job_.data.split == data::Split::train)
    fail_usage("compare other images",
               "--fit-train with --split train: the fitting images would be compared too");
  job_.recorded = options.to_json();
  const app::OutliersResult found = app::run_outliers(job_);
  show(found, as_json);
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_outliers() { return std::make_unique<Outliers>(); }

}  // namespace mdsm::cli

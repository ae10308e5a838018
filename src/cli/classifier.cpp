// mdsm classifier: trains a small classifier, or measures one, on a labelled data set.
#include "app/classifier.h"

#include "app/model_use.h"
#include "cli/command.h"
#include "cli/show.h"
#include "core/error.h"
#include "core/stop_flag.h"
#include "data/data_options.h"

namespace mdsm::cli {
namespace {

class ClassifierCommand : public Command {
 public:
  const char* name() const override { return "classifier"; }
  const char* summary() const override {
    return "Train a small classifier for evaluate, modes and sample, or measure one";
  }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  app::ClassifierOptions job_;
};

void ClassifierCommand::declare(OptionSet& options) {
  data::declare_data_options(options, job_.data, {.flip = true, .random_limit = true});
  options
      .add("hold-out", job_.held_out,
           "share of the images kept from training to measure the accuracy, where the source has no test "
           "part; 0 = none, and the accuracy is that of the training images")
      .range(0, 0.9);
  classify::ClassifierTraining& training = job_.training;
  options.group("Network");
  options.add("width", training.width, "channels of the first of three convolutions; they double twice")
      .range(1, 256);
  options.add("hidden", training.features, "outputs of the hidden layer, the features of evaluate")
      .range(1, 4096)
      .formerly("features");
  options.group("Training");
  options.add("epochs", training.epochs, "passes over the data").range(1, 10000);
  options.add("batch", training.batch, "images an update").range(1, 65536);
  options.add("lr", training.lr, "largest learning rate of AdamW; half a cosine leads to 0").above(0);
  options.add("weight-decay", training.weight_decay, "shrinking of the weights, times the learning rate")
      .range(0, 100);
  options.add("shift", training.shift, "pixels by which images are moved at random").range(0, 64);
  options
      .add("sigma-max", training.sigma_max,
           "with noise on the images, for sample --class-by, of levels up to this; 0 for none")
      .range(0, 1000);
  options.add("sigma-min", training.sigma_min, "lowest level of that noise; evenly spread in the logarithm")
      .range(0, 1000);
  options.add("seed", job_.seed, "of the first weights, the order, shifts, flips, and random subsets")
      .range(0);
  options.add("threads", job_.threads, "CPU threads; 0 takes all").range(0, 1024);
  options.group("Output");
  options.add("out", job_.out, "the classifier, weights as float16").meta("FILE.safetensors");
  options.add("full", job_.full, "store the weights as float32");
  options
      .add("measure", job_.measured, "train nothing: accuracy of this classifier (a file, or a bundled one)")
      .meta("CLASSIFIER");
  options.add("force", job_.force, "replace the file").command_line_only();
  options.example("mdsm classifier --data fashion-mnist --flip --out classifier.safetensors");
  options.example("mdsm classifier --data mnist --measure mnist");
}

int ClassifierCommand::run(OptionSet& options) {
  if (job_.out.empty() == job_.measured.empty())
    fail_usage("name a file to train one, or a classifier to measure", "give one of --out and --measure");
  if (!job_.measured.empty() && options.given("hold-out"))
    fail_usage("leave it out", "--hold-out with --measure, which trains nothing");
  if (!job_.measured.empty() && !options.given("split")) job_.data.split = data::Split::test;
  if (!job_.measured.empty() && options.given("sigma-max"))
    fail_usage("leave it out", "--sigma-max with --measure, which trains nothing");
  if (options.given("sigma-min") && job_.training.sigma_max <= 0)
    fail_usage("give the highest, too", "--sigma-min without --sigma-max");
  job_.log_epochs = !as_json;
  const StopFlag stop;
  const app::ClassifierResult found = app::run_classifier(job_, stop.flag());
  show(found, as_json);
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_classifier() { return std::make_unique<ClassifierCommand>(); }

}  // namespace mdsm::cli

// mdsm classifier: trains a small classifier, or measures one, on a labelled data set.
#include <chrono>

#include "classify/training.h"
#include "cli/command.h"
#include "app/features.h"
#include "app/model_use.h"
#include "app/output.h"
#include "core/error.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/stop_flag.h"
#include "core/threads.h"
#include "data/data_options.h"
#include "data/subset.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

class ClassifierCommand : public Command {
 public:
  const char* name() const override { return "classifier"; }
  const char* summary() const override {
    return "Train a small classifier for evaluate and modes, or measure one";
  }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  classify::Classifier train(const data::Dataset& data) const;
  json training_json(const data::Dataset& data) const;
  void open_training();
  void open_measured(const OptionSet& options);
  void print(const classify::Classifier& classifier, const classify::Accuracy& found, double seconds) const;

  data::DataOptions data_;
  classify::ClassifierTraining training_;
  std::string out_, measured_;
  int64_t threads_ = 0, seed_ = 0;
  double held_out_ = 0.1;
  std::shared_ptr<const data::Dataset> images_, test_;  // to train on; to measure the accuracy on
  std::string of_;                                // whose accuracy that is
  bool full_ = false, force_ = false, json_ = false;
};

void ClassifierCommand::declare(OptionSet& options) {
  data::declare_data_options(options, data_, {.flip = true, .random_limit = true});
  options
      .add("hold-out", held_out_,
           "share of the images kept from training to measure the accuracy, where the source has no test "
           "part; "
           "0 = none, and the accuracy is that of the training images")
      .range(0, 0.9);
  options.group("Network");
  options.add("width", training_.width, "channels of the first of three convolutions; they double twice")
      .range(1, 256);
  options.add("features", training_.features, "outputs of the hidden layer, the features of evaluate")
      .range(1, 4096);
  options.group("Training");
  options.add("epochs", training_.epochs, "passes over the data").range(1, 10000);
  options.add("batch", training_.batch, "images an update").range(1, 65536);
  options.add("lr", training_.lr, "largest learning rate of AdamW; half a cosine leads to 0").above(0);
  options.add("weight-decay", training_.weight_decay, "shrinking of the weights, times the learning rate")
      .range(0, 100);
  options.add("shift", training_.shift, "pixels by which images are moved at random").range(0, 64);
  options.add("seed", seed_, "of the first weights, the order, shifts, flips, and images drawn by chance")
      .range(0);
  options.add("threads", threads_, "CPU threads; 0 = all. They make no difference to the result")
      .range(0, 4096);
  options.group("Output");
  options.add("out", out_, "the classifier, weights as float16").meta("FILE.safetensors");
  options.add("full", full_, "store the weights as float32");
  options.add("measure", measured_, "train nothing: accuracy of this classifier (a file, or a bundled one)")
      .meta("CLASSIFIER");
  options.add("force", force_, "replace the file").command_line_only();
  options.add("json", json_, "print JSON for machines").command_line_only();
  options.example("mdsm classifier --data fashion-mnist --flip --out classifier.safetensors");
  options.example("mdsm classifier --data mnist --measure mnist");
}

classify::Classifier ClassifierCommand::train(const data::Dataset& data) const {
  const StopFlag stop;
  Progress progress("training", training_.epochs * (data.size() / std::min(training_.batch, data.size())),
                    "updates");
  classify::Classifier classifier = classify::train_classifier(
      data, training_,
      [&](const classify::EpochReport& report) {
        progress.update(report.step, fmt::format("loss {:.4f}", report.loss));
        if (report.step * report.epochs == report.epoch * report.steps && !json_)
          log_info("epoch {} of {}: loss {:.4f}, {:.2f} % right", report.epoch, report.epochs, report.loss,
                   100 * report.accuracy);
      },
      &stop.flag());
  if (stop.flag()) fail("start again; training takes minutes", "stopped; no classifier is written");
  return classifier;
}

json ClassifierCommand::training_json(const data::Dataset& data) const {
  return {{"data", data_.source.substr(0, data_.source.find(':'))},
          {"images", data.size()},
          {"epochs", training_.epochs},
          {"batch", training_.batch},
          {"lr", training_.lr},
          {"weight-decay", training_.weight_decay},
          {"shift", training_.shift},
          {"flip", training_.flip},
          {"seed", training_.seed}};
}

// The test part is what the accuracy is of, where there is one and it is not trained on. Everything is opened
// before the training.
void ClassifierCommand::open_training() {
  images_ = data::open_dataset(data_);
  if (images_->part() == "train") {
    data::DataOptions options = data_;
    options.split = "test";
    options.limit = 0;
    test_ = data::open_dataset(options);
    of_ = "test images";
  } else if (held_out_ > 0) {
    const data::HeldOut parts = data::hold_out(images_, held_out_, training_.seed);
    images_ = parts.rest;
    test_ = parts.held_out;
    of_ = "held-out images";
  } else {
    test_ = images_;
    of_ = "training images";
  }
}

void ClassifierCommand::open_measured(const OptionSet& options) {
  if (!options.given("split")) data_.split = "test";
  test_ = data::open_dataset(data_);
  of_ = test_->part().empty() ? "all images" : test_->part() == "test" ? "test images" : "training images";
}

void ClassifierCommand::print(const classify::Classifier& classifier, const classify::Accuracy& found, double seconds) const {
  if (json_) {
    json values = {{"accuracy", to_json(found)},
                   {"accuracy_of", of_},
                   {"accuracy_data", test_->description()},
                   {"spec", to_json(classifier.spec)},
                   {"classes", classifier.classes},
                   {"info", classifier.info},
                   {"seconds", seconds}};
    if (of_ == "test images" || of_ == "held-out images") values["test"] = values["accuracy"];
    if (!out_.empty()) values["out"] = out_;
    return app::print_json(values);
  }
  fmt::print("accuracy       {:.2f} % +- {:.2f} (standard error) of {}, n {}\n", 100 * found.rate,
             100 * found.standard_error, of_, found.n);
  fmt::print("images         {}\n", test_->description());
  fmt::print("network        {} weights, {} features, {} classes\n", app::grouped(classify::weight_count(classifier.spec)),
             classifier.spec.features, classifier.spec.classes);
  fmt::print("time           {}\n", duration_text(seconds));
  if (!out_.empty()) fmt::print("written        {}\n", out_);
}

int ClassifierCommand::run(OptionSet& options) {
  if (out_.empty() == measured_.empty())
    fail_usage("name a file to train one, or a classifier to measure", "give one of --out and --measure");
  if (!measured_.empty() && options.given("hold-out"))
    fail_usage("leave it out", "--hold-out with --measure, which trains nothing");
  if (!out_.empty()) {
    app::check_folder_of(out_);
    app::check_output(out_, force_);
  }
  set_thread_count(static_cast<int>(threads_));
  training_.seed = data_.seed = static_cast<uint64_t>(seed_);
  training_.flip = data_.flip;
  const auto start = std::chrono::steady_clock::now();
  classify::Classifier classifier;
  if (!measured_.empty()) {
    classifier = classify::load_classifier(app::classifier_path(measured_));
    open_measured(options);
  } else {
    open_training();
    classifier = train(*images_);
    classifier.info["trained"] = training_json(*images_);
    if (!full_) classify::round_to_half(classifier);
  }
  const classify::Accuracy found = classify::accuracy(classifier, *test_);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!out_.empty()) {
    classifier.info["accuracy"] = to_json(found);
    classifier.info["accuracy_of"] = of_;
    classify::save_classifier(out_, classifier, full_ ? io::StoredType::float32 : io::StoredType::float16);
  }
  Progress::clear_line();
  print(classifier, found, seconds);
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_classifier() { return std::make_unique<ClassifierCommand>(); }

}  // namespace mdsm::cli

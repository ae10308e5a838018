// mdsm classifier: trains a small classifier, or measures one, on a labelled data set.
#include <chrono>

#include "classify/training.h"
#include "cli/command.h"
#include "cli/evaluation_options.h"
#include "cli/model_use.h"
#include "cli/output.h"
#include "core/error.h"
#include "core/log.h"
#include "core/progress.h"
#include "core/stop_flag.h"
#include "core/threads.h"
#include "data/data_options.h"

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
  Classifier train(const Dataset& data) const;
  json training_json(const Dataset& data) const;
  void print(const Classifier& classifier, const Accuracy& found, const Dataset& test, double seconds) const;

  DataOptions data_;
  ClassifierTraining training_;
  std::string out_, measured_;
  int64_t threads_ = 0, seed_ = 0;
  bool full_ = false, force_ = false, json_ = false;
};

void ClassifierCommand::declare(OptionSet& options) {
  declare_data_options(options, data_, {.flip = true});
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
  options.add("seed", seed_, "of the first weights, the order, shifts and flips").range(0);
  options.add("threads", threads_, "CPU threads; 0 = all. They make no difference to the result")
      .range(0, 4096);
  options.group("Output");
  options.add("out", out_, "the classifier, weights as float16").meta("FILE.safetensors");
  options.add("full", full_, "store the weights as float32");
  options
      .add("measure", measured_, "train nothing: test accuracy of this classifier (a file, or a bundled one)")
      .meta("CLASSIFIER");
  options.add("force", force_, "replace the file").command_line_only();
  options.add("json", json_, "print JSON for machines").command_line_only();
  options.example("mdsm classifier --data fashion-mnist --flip --out classifier.safetensors");
  options.example("mdsm classifier --data mnist --measure mnist");
}

Classifier ClassifierCommand::train(const Dataset& data) const {
  const StopFlag stop;
  Progress progress("training", training_.epochs * (data.size() / std::min(training_.batch, data.size())),
                    "updates");
  Classifier classifier = train_classifier(
      data, training_,
      [&](const EpochReport& report) {
        progress.update(report.step, fmt::format("loss {:.4f}", report.loss));
        if (report.step * report.epochs == report.epoch * report.steps && !json_)
          log_info("epoch {} of {}: loss {:.4f}, {:.2f} % right", report.epoch, report.epochs, report.loss,
                   100 * report.accuracy);
      },
      &stop.flag());
  if (stop.flag()) fail("start again; training takes minutes", "stopped; no classifier is written");
  return classifier;
}

json ClassifierCommand::training_json(const Dataset& data) const {
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

void ClassifierCommand::print(const Classifier& classifier, const Accuracy& found, const Dataset& test,
                              double seconds) const {
  if (json_) {
    json values = {{"test", to_json(found)},           {"test_data", test.description()},
                   {"spec", to_json(classifier.spec)}, {"classes", classifier.classes},
                   {"info", classifier.info},          {"seconds", seconds}};
    if (!out_.empty()) values["out"] = out_;
    return print_json(values);
  }
  fmt::print("test accuracy  {:.2f} % +- {:.2f} (standard error), n {}\n", 100 * found.rate,
             100 * found.standard_error, found.n);
  fmt::print("test images    {}\n", test.description());
  fmt::print("network        {} weights, {} features, {} classes\n", grouped(weight_count(classifier.spec)),
             classifier.spec.features, classifier.spec.classes);
  fmt::print("time           {}\n", duration_text(seconds));
  if (!out_.empty()) fmt::print("written        {}\n", out_);
}

int ClassifierCommand::run(OptionSet& options) {
  if (out_.empty() == measured_.empty())
    fail_usage("name a file to train one, or a classifier to measure", "give one of --out and --measure");
  if (!out_.empty()) {
    check_folder_of(out_);
    check_output(out_, force_);
  }
  set_thread_count(static_cast<int>(threads_));
  training_.seed = data_.seed = static_cast<uint64_t>(seed_);
  training_.flip = data_.flip;
  const auto start = std::chrono::steady_clock::now();
  Classifier classifier;
  DataOptions of_test = data_;
  of_test.split = "test";
  if (!measured_.empty()) {
    classifier = load_classifier(classifier_path(measured_));
    if (options.given("split")) of_test.split = data_.split;
  } else {
    const auto data = open_dataset(data_);
    classifier = train(*data);
    classifier.info["trained"] = training_json(*data);
    if (!full_) round_to_half(classifier);
  }
  of_test.limit = measured_.empty() ? 0 : data_.limit;
  const auto test = open_dataset(of_test);
  const Accuracy found = accuracy(classifier, *test);
  const double seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  if (!out_.empty()) {
    classifier.info["accuracy"] = to_json(found);
    save_classifier(out_, classifier, full_ ? StoredType::float32 : StoredType::float16);
  }
  Progress::clear_line();
  print(classifier, found, *test, seconds);
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_classifier() { return std::make_unique<ClassifierCommand>(); }

}  // namespace mdsm::cli

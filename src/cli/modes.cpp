// mdsm modes: how many of the 1,000 modes of stacked MNIST the samples show.
#include "eval/modes.h"
#include "classify/classifier.h"
#include "cli/command.h"
#include "app/features.h"
#include "app/model_use.h"
#include "app/output.h"
#include "core/error.h"
#include "core/progress.h"
#include "core/threads.h"
#include "data/data_options.h"
#include "eval/sample_source.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

class Modes : public Command {
 public:
  const char* name() const override { return "modes"; }
  const char* summary() const override {
    return "Count the modes of stacked MNIST that samples cover, and their divergence from uniform";
  }
  void declare(OptionSet& options) override {
    options.group("Samples");
    options
        .add("samples", samples_,
             "folder of mdsm sample, samples.npy, a folder of images, or any data source")
        .meta("SOURCE")
        .required();
    options.add("limit", limit_, "only the first so many samples; 0 = all").range(0);
    options.add("split", split_, "part of the set, where the source is a data set")
        .choices({"train", "test"});
    options.group("Classifier");
    options.add("classifier", classifier_, "reads one channel: a file of mdsm classifier, or a bundled one")
        .meta("CLASSIFIER");
    options.add("seed", seed_, "of data drawn by chance").range(0);
    options.add("threads", threads_, "CPU threads; 0 = all").range(0, 4096);
    options.group("Output");
    options.add("out", out_, "also write the JSON, with the count of every mode, to a file")
        .meta("FILE.json");
    options.add("force", force_, "replace the file").command_line_only();
    options.add("json", json_, "print JSON for machines").command_line_only();
    options.example("mdsm modes --samples samples");
    options.example("mdsm modes --samples stacked-mnist --split test --limit 8000");
  }

  int run(OptionSet& given) override {
    if (!out_.empty()) {
      app::check_folder_of(out_);
      app::check_output(out_, force_);
    }
    set_thread_count(static_cast<int>(threads_));
    path_ = given.given("classifier") ? app::classifier_path(classifier_) : app::default_classifier(classifier_);
    const classify::Classifier classifier = classify::load_classifier(path_);
    const eval::SampleSource source = eval::sample_source(samples_);
    data::DataOptions options;
    options.split = split_;
    options.limit = limit_;
    options.seed = static_cast<uint64_t>(seed_);
    const auto data = eval::open_samples(source, options);
    Progress progress("samples", data->size(), "images");
    const auto found = eval::stacked_modes(classifier, *data, [&](int64_t done) { progress.update(done); });
    Progress::clear_line();
    int64_t modes = 1;
    for (int64_t c = 0; c < data->image_shape().c; ++c) modes *= classifier.spec.classes;
    report(eval::count_modes(found, modes), classifier, *data, source.seeds);
    return 0;
  }

 private:
  void report(const eval::ModeCount& count, const classify::Classifier& classifier, const data::Dataset& data,
              const std::string& seeds) const {
    json values = {
        {"n", count.n},
        {"modes", count.modes},
        {"covered", count.covered},
        {"kl_to_uniform", count.divergence},
        {"covered_by_uniform_draws", count.expected_uniform},
        {"convention", "each channel classified alone; KL(samples || uniform) in nats, of the counts"},
        {"samples", {{"from", data.description()}}},
        {"classifier", {{"file", path_.filename().string()}}}};
    values["classifier"]["accuracy"] = classifier.info.value("accuracy", json());
    values["classifier"]["accuracy_of"] = classifier.info.value("accuracy_of", json());
    if (!seeds.empty()) values["samples"]["seeds"] = seeds;
    if (!out_.empty()) {
      json whole = values;
      whole["counts"] = count.counts;
      write_file(out_, whole.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
    }
    if (json_) return app::print_json(values);
    fmt::print("modes       {} of {} covered, n {} (that many uniform draws cover {:.1f} on average)\n",
               count.covered, count.modes, count.n, count.expected_uniform);
    fmt::print("KL          {:.4f} nats, samples to uniform\n", count.divergence);
    const json &accuracy = values["classifier"]["accuracy"], &of = values["classifier"]["accuracy_of"];
    const bool known = accuracy.is_object() && accuracy.value("rate", json()).is_number();
    fmt::print("classifier  {}, {}\n", values["classifier"]["file"].get<std::string>(),
               known ? fmt::format("{:.2f} % right on {}", 100 * accuracy["rate"].get<double>(),
                                   of.is_string() ? of.get<std::string>() : "its test set")
                     : "of unknown accuracy");
    fmt::print("samples     {}{}\n", data.description(), seeds.empty() ? "" : ", seeds " + seeds);
  }

  fs::path path_;  // of the classifier
  std::string samples_, classifier_ = "mnist", out_, split_ = "train";
  int64_t limit_ = 0, seed_ = 0, threads_ = 0;
  bool force_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_modes() { return std::make_unique<Modes>(); }

}  // namespace mdsm::cli

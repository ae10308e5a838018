// mdsm modes: how many of the 1,000 modes of stacked MNIST the samples show.
#include "app/modes.h"

#include "app/model_use.h"
#include "cli/command.h"
#include "cli/show.h"

namespace mdsm::cli {
namespace {

class Modes : public Command {
 public:
  const char* name() const override { return "modes"; }
  const char* summary() const override {
    return "Count the modes of stacked MNIST that samples cover, and their divergence from uniform";
  }
  void declare(OptionSet& options) override {
    options.group("Samples");
    options
        .add("samples", job_.samples,
             "folder of mdsm sample, samples.npy, a folder of images, or any data source")
        .meta("SOURCE")
        .required();
    options.add("limit", job_.data.limit, "only the first so many samples; 0 = all").range(0);
    options.add("split", job_.data.split, "part of the set, where the source is a data set")
        .choices({"train", "test"});
    options.group("Classifier");
    options
        .add("classifier", job_.classifier, "reads one channel: a file of mdsm classifier, or a bundled one")
        .meta("CLASSIFIER");
    options.add("seed", job_.seed, "of random data").range(0);
    options.add("threads", job_.threads, "CPU threads; 0 takes all").range(0, 1024);
    options.group("Output");
    options.add("out", job_.out, "also write the JSON, with the count of every mode, to a file")
        .meta("FILE.json");
    options.add("force", job_.force, "replace the file").command_line_only();
    options.example("mdsm modes --samples samples");
    options.example("mdsm modes --samples stacked-mnist --split test --limit 8000");
  }

  int run(OptionSet& options) override {
    job_.bundled = !options.given("classifier");
    const app::ModesResult found = app::run_modes(job_);
    show(found, as_json);
    return 0;
  }

 private:
  app::ModesOptions job_;
};

}  // namespace

std::unique_ptr<Command> make_modes() { return std::make_unique<Modes>(); }

}  // namespace mdsm::cli

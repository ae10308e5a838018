// mdsm describe: a network as a table; app/describe.h does it.
#include "app/describe.h"

#include "app/model_use.h"
#include "app/network_options.h"
#include "cli/command.h"
#include "cli/show.h"

namespace mdsm::cli {
namespace {

class Describe : public Command {
 public:
  const char* name() const override { return "describe"; }
  const char* summary() const override { return "Print a network's layers, parameters, cost and memory"; }
  void declare(OptionSet& options) override {
    options.group("Network");
    options.add("model", job_.model, "describe the network of this model file, run folder or bundled model")
        .meta("MODEL");
    network_.declare(options);
    options.group("Output");
    options.add("batch", job_.batch, "images a batch, for the memory").range(1, 1'000'000);
    options.add("svg", job_.svg, "draw the network to this file").meta("FILE.svg");
    options.example("mdsm describe --net res18 --width 128 --channels 3");
    options.example("mdsm describe --net unet --width 32 --channels 3 --svg unet.svg");
  }

  int run(OptionSet& options) override {
    if (job_.model.empty())
      job_.spec = network_.spec(options);
    else
      network_.exclude(options, "model");
    const app::DescribeResult result = run_describe(job_);
    show(result, as_json);
    return 0;
  }

 private:
  app::DescribeOptions job_;
  app::NetworkOptions network_;
};

}  // namespace

std::unique_ptr<Command> make_describe() { return std::make_unique<Describe>(); }

}  // namespace mdsm::cli

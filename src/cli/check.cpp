// mdsm check: the native engine against LibTorch; app/check.h compares.
#include "app/check.h"

#include "app/model_use.h"
#include "app/network_options.h"
#include "cli/command.h"
#include "cli/show.h"
#include "core/error.h"

namespace mdsm::cli {
namespace {

class Check : public Command {
 public:
  const char* name() const override { return "check"; }
  const char* summary() const override {
    return "Compare the native engine with LibTorch's autograd on one network or all";
  }
  void declare(OptionSet& options) override {
    options.group("Network");
    options.add("model", job_.model, "check the weights of this model file, run folder or bundled model")
        .meta("MODEL");
    options.add("all", all_, "every network, head, 1 and 3 channels, 32 and 64 pixels, one line each");
    network_.declare(options);
    options.group("Check");
    options.add("batch", job_.check.batch, "images").range(1, 4096);
    options.add("seed", seed_, "seed of weights, images and noise").range(0);
    options.add("device", job_.check.device, "where LibTorch computes: cpu, cuda or cuda:K").meta("DEVICE");
    options.add("threads", job_.threads, "CPU threads; 0 takes all").range(0, 1024);
    options.example("mdsm check --net res12 --width 16");
    options.example("mdsm check --all");
  }

  int run(OptionSet& options) override {
    if (all_ || !job_.model.empty()) network_.exclude(options, all_ ? "all" : "model");
    if (all_ && !job_.model.empty())
      fail_usage("give one of the two", "--all and --model exclude each other");
    job_.check.seed = static_cast<uint64_t>(seed_);
    if (all_) return run_all();
    if (job_.model.empty()) job_.spec = network_.spec(options);
    const app::CheckResult result = run_check(job_);
    show(result, as_json);
    return result.ok() ? 0 : 1;
  }

 private:
  int run_all() const {
    if (!as_json) app::print_check_heading();
    const app::CheckAllResult result = run_check_all(job_, [this](const app::CheckResult& one) {
      if (!as_json) print_check_row(one);
    });
    as_json ? app::print_json(to_json(result)) : print_check_verdict(result);
    return result.ok() ? 0 : 1;
  }

  app::CheckOptions job_;
  app::NetworkOptions network_;
  int64_t seed_ = 0;
  bool all_ = false;
};

}  // namespace

std::unique_ptr<Command> make_check() { return std::make_unique<Check>(); }

}  // namespace mdsm::cli

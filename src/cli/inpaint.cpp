// mdsm inpaint: fills in missing parts of pictures, several times each.
#include "cli/command.h"
#include "cli/completion.h"

namespace mdsm::cli {
namespace {

class Inpaint : public Command {
 public:
  const char* name() const override { return "inpaint"; }
  const char* summary() const override { return "Fill in missing parts of pictures"; }

  void declare(OptionSet& options) override {
    job_.declare_pictures(options);
    mask_.declare(options);
    options.group("Completions");
    options.add("n", n_, "completions of each picture").range(1, 10000);
    options.add("seed", seed_, "of the first completion, and of --random-missing").range(0, 9e15);
    sampler_.declare(options, {"fast", "annealed"});
    job_.declare_output(options);
    options.example("mdsm inpaint photo.png --mask mask.png --model runs/00000 -n 4");
    options.example(
        "mdsm inpaint --data fashion-mnist --split test --limit 8 --box 8,8,16,16 --model runs/00000");
  }

  int run(OptionSet& options) override {
    return run_completion(options, {job_, mask_, sampler_, "inpaint", n_, seed_});
  }

 private:
  PictureJob job_{"inpaint"};
  MaskChoice mask_;
  app::SamplerOptions sampler_;
  int64_t n_ = 4, seed_ = 0;
};

}  // namespace

std::unique_ptr<Command> make_inpaint() { return std::make_unique<Inpaint>(); }

}  // namespace mdsm::cli

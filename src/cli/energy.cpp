#include "app/energy.h"

#include "cli/command.h"
#include "cli/show.h"
#include "data/data_options.h"

namespace mdsm::cli {
namespace {

class Energy : public Command {
 public:
  const char* name() const override { return "energy"; }
  const char* summary() const override { return "Compute the energies of images, and the gradients by them"; }
  void declare(OptionSet& options) override {
    job_.use.declare_model(options);
    data::declare_data_options(options, job_.data);
    options.group("Energies");
    options.add("add-noise", job_.noise, "standard deviation of Gaussian noise put on the images")
        .range(0, 1000)
        .formerly("noise");
    options.add("seed", job_.seed, "seed of the noise and of random data").range(0);
    job_.use.declare_engine(options);
    options.group("Output");
    options.add("out", job_.out, "write the energies (N) as .npy").meta("FILE.npy");
    options.add("gradient", job_.gradient, "write grad_x = +dE/dx (N,C,H,W) as .npy").meta("FILE.npy");
    options.example("mdsm energy --model runs/00000 --data fashion-mnist --split test --add-noise 0.1");
  }

  int run(OptionSet&) override {
    const app::EnergyResult found = app::run_energy(job_);
    show(found, as_json);
    return 0;
  }

 private:
  app::EnergyOptions job_;
};

}  // namespace

std::unique_ptr<Command> make_energy() { return std::make_unique<Energy>(); }

}  // namespace mdsm::cli

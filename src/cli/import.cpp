// mdsm import: a PyTorch state dict becomes a model file; app/convert.h does it.
#include "app/convert.h"
#include "cli/command.h"
#include "cli/show.h"

namespace mdsm::cli {
namespace {

class Import : public Command {
 public:
  const char* name() const override { return "import"; }
  const char* summary() const override { return "Turn a PyTorch state dict into a model file"; }
  void declare(OptionSet& options) override {
    options.group("Files");
    options.add("input", job_.input, "PyTorch state dict: zip container or older pickle")
        .meta("STATE_DICT.pt")
        .positional()
        .required();
    options.add("output", job_.output, "model file to write")
        .meta("MODEL.safetensors")
        .positional()
        .required();
    options.add("force", job_.force, "replace an existing model file").command_line_only();
    options.group("Model");
    options
        .add("sigma0", job_.more.sigma0, "kernel width the model was trained with; a state dict does not say")
        .above(0);
    options.add("head", job_.more.unet_head, "unet: its head, which a state dict does not say either")
        .choices({"squared-residual", "inner-product", "predicted-noise", "denoiser", "residual-denoiser"});
    options.add("activation", job_.more.unet_activation, "unet: what stands between convolutions");
    options.add("size", job_.more.unet_size, "unet: pixels along each side of the images it was trained on")
        .range(1, 65536);
    options.add("preset", job_.preset, "note which data set's defaults belong to the model")
        .choices({"mnist", "fashion-mnist", "cifar10", "celeba"});
    options.example("mdsm import netE_100000.pt cifar10.safetensors --preset cifar10");
  }

  int run(OptionSet& options) override {
    for (const char* name : {"head", "activation", "size"})
      if (options.given(name)) job_.unet_only.push_back(name);
    show(run_import(job_), as_json);
    return 0;
  }

 private:
  app::ImportOptions job_;
};

}  // namespace

std::unique_ptr<Command> make_import() { return std::make_unique<Import>(); }

}  // namespace mdsm::cli

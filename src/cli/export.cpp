// mdsm export: a model becomes a PyTorch state dict, an ONNX file or a smaller model file; app/convert.h does
// it.
#include "app/convert.h"
#include "cli/command.h"
#include "cli/show.h"

namespace mdsm::cli {
namespace {

class Export : public Command {
 public:
  const char* name() const override { return "export"; }
  const char* summary() const override {
    return "Write a model as a state dict that torch.load reads, as an ONNX file, or as a smaller model file";
  }
  void declare(OptionSet& options) override {
    options.group("Files");
    options.add("input", job_.input, "model file, run folder or bundled model")
        .meta("MODEL")
        .positional()
        .required();
    options
        .add("output", job_.output,
             "what to write: a PyTorch state dict, names as the authors'; energy and denoiser for any "
             "runtime if "
             "it ends in .onnx; a model file if it ends in .safetensors")
        .meta("STATE_DICT.pt|MODEL.onnx|MODEL.safetensors|FOLDER")
        .positional()
        .required();
    options.add("half", job_.half, "a model file with weights as float16, half the size");
    options
        .add("sampling", job_.sampling,
             "a model file: options of multistep that mdsm sample is to take for this model, as in "
             "churn=16,hot=10")
        .meta("NAME=VALUE,...");
    options.add("hub", job_.hub,
                "write a folder for the Hugging Face hub: config.json, model.safetensors and a model card");
    options.add("force", job_.force, "replace an existing file").command_line_only();
    options.example("mdsm export model.safetensors netE.pt");
    options.example("mdsm export cifar10 denoiser.onnx");
    options.example("mdsm export fashion-mnist hub --hub");
    options.example("mdsm export runs/00000 small.safetensors --half --sampling churn=16");
  }

  int run(OptionSet&) override {
    show(run_export(job_), as_json);
    return 0;
  }

 private:
  app::ExportOptions job_;
};

}  // namespace

std::unique_ptr<Command> make_export() { return std::make_unique<Export>(); }

}  // namespace mdsm::cli

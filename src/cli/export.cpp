#include "cli/command.h"
#include "app/output.h"
#include "core/error.h"
#include "network/model_file.h"
#include "network/state_dict.h"

namespace mdsm::cli {
namespace {

class Export : public Command {
 public:
  const char* name() const override { return "export"; }
  const char* summary() const override {
    return "Write a model's weights as a state dict that torch.load reads, or as a smaller model file";
  }
  void declare(OptionSet& options) override {
    options.group("Files");
    options.add("input", input_, "model file, run folder or bundled model")
        .meta("MODEL")
        .positional()
        .required();
    options
        .add("output", output_,
             "what to write: a PyTorch state dict, names as the authors', or a model file if it ends in "
             ".safetensors")
        .meta("STATE_DICT.pt|MODEL.safetensors")
        .positional()
        .required();
    options.add("half", half_, "a model file with weights as float16, half the size");
    options.add("force", force_, "replace an existing file").command_line_only();
    options.example("mdsm export model.safetensors netE.pt");
    options.example("mdsm export runs/00000 small.safetensors --half");
  }

  int run(OptionSet&) override {
    app::check_output(output_, force_);
    const bool model_file = fs::path(output_).extension() == ".safetensors";
    if (half_ && !model_file)
      fail_usage("name a file that ends in .safetensors", "--half writes a model file, not {}", output_);
    const network::Model model = network::load_model(input_);
    if (model_file) {
      network::save_model(output_, model.parameters, model.info, half_ ? io::StoredType::float16 : io::StoredType::float32);
      fmt::print("{}: {} values as {}\n", output_, app::grouped(network::parameter_count(model.parameters.spec())),
                 half_ ? "float16" : "float32");
      return 0;
    }
    network::write_state_dict(output_, model.parameters);
    fmt::print(
        "{}: {} tensors, {} values; load it with torch.load, then load_state_dict(..., strict=False)\n",
        output_, model.parameters.layout().size(), app::grouped(network::parameter_count(model.parameters.spec())));
    return 0;
  }

 private:
  std::string input_, output_;
  bool force_ = false, half_ = false;
};

}  // namespace

std::unique_ptr<Command> make_export() { return std::make_unique<Export>(); }

}  // namespace mdsm::cli

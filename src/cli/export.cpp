#include "cli/command.h"
#include "cli/output.h"
#include "core/error.h"
#include "model/model_file.h"
#include "model/state_dict.h"

namespace mdsm::cli {
namespace {

class Export : public Command {
 public:
  const char* name() const override { return "export"; }
  const char* summary() const override {
    return "Write a model's weights as a state dict that torch.load reads";
  }
  void declare(OptionSet& options) override {
    options.group("Files");
    options.add("input", input_, "model file or run folder").meta("MODEL").positional().required();
    options.add("output", output_, "PyTorch state dict to write, names as the authors'")
        .meta("STATE_DICT.pt")
        .positional()
        .required();
    options.add("force", force_, "replace an existing file").command_line_only();
    options.example("mdsm export model.safetensors netE.pt");
  }

  int run(OptionSet&) override {
    check_output(output_, force_);
    const Model model = load_model(input_);
    write_state_dict(output_, model.parameters);
    fmt::print(
        "{}: {} tensors, {} values; load it with torch.load, then load_state_dict(..., strict=False)\n",
        output_, model.parameters.layout().size(), grouped(parameter_count(model.parameters.spec())));
    return 0;
  }

 private:
  std::string input_, output_;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> make_export() { return std::make_unique<Export>(); }

}  // namespace mdsm::cli

#include <algorithm>

#include "cli/command.h"
#include "app/output.h"
#include "core/error.h"
#include "network/model_file.h"
#include "network/state_dict.h"

namespace mdsm::cli {
namespace {

class Import : public Command {
 public:
  const char* name() const override { return "import"; }
  const char* summary() const override {
    return "Turn a PyTorch state dict of the authors into a model file";
  }
  void declare(OptionSet& options) override {
    options.group("Files");
    options.add("input", input_, "PyTorch state dict: zip container or older pickle")
        .meta("STATE_DICT.pt")
        .positional()
        .required();
    options.add("output", output_, "model file to write").meta("MODEL.safetensors").positional().required();
    options.add("force", force_, "replace an existing model file").command_line_only();
    options.group("Model");
    options.add("sigma0", sigma0_, "kernel width the model was trained with; a state dict does not say")
        .above(0);
    options.add("preset", preset_, "note which data set's defaults belong to the model")
        .choices({"mnist", "fashion-mnist", "cifar10", "celeba"});
    options.example("mdsm import netE_100000.pt cifar10.safetensors --preset cifar10");
  }

  int run(OptionSet&) override {
    app::check_output(output_, force_);
    const network::ImportedParameters imported = network::parameters_from(network::read_state_dict(fs::path(input_)), sigma0_, input_);
    nlohmann::json info = {{"imported_from", fs::path(input_).filename().string()}};
    if (!preset_.empty()) info["preset"] = preset_;
    network::save_model(output_, imported.parameters, info);
    print(imported);
    return 0;
  }

 private:
  void print(const network::ImportedParameters& imported) const {
    const network::Spec& spec = imported.parameters.spec();
    fmt::print("network     {}\nwidth       {}\nchannels    {}\nsize        {}\nhead        {}\n",
               to_string(spec.network), spec.width, spec.channels, spec.size, to_string(spec.head));
    fmt::print("sigma0      {:g}\nparameters  {}\n", spec.sigma0, app::grouped(network::parameter_count(spec)));
    constexpr size_t kShown = 4;
    const auto& skipped = imported.skipped;
    fmt::print("skipped     {} unused entries", skipped.size());
    if (!skipped.empty())
      fmt::print(" ({}{})",
                 fmt::join(skipped.begin(), skipped.begin() + std::min(kShown, skipped.size()), ", "),
                 skipped.size() > kShown ? ", ..." : "");
    fmt::print("\nwritten     {}\n", output_);
  }

  std::string input_, output_, preset_;
  double sigma0_ = 0.1;
  bool force_ = false;
};

}  // namespace

std::unique_ptr<Command> make_import() { return std::make_unique<Import>(); }

}  // namespace mdsm::cli

// mdsm models: the models that come with the program; app/models.h finds them.
#include "app/models.h"

#include "app/model_use.h"
#include "cli/command.h"
#include "core/error.h"

namespace mdsm::cli {
namespace {

class Models : public Command {
 public:
  const char* name() const override { return "models"; }
  const char* summary() const override { return "List the models that come with mdsm"; }
  void declare(OptionSet& options) override {
    options.group("Output");
    options.example("mdsm models");
    options.example("mdsm sample --model fashion-mnist");
  }

  int run(OptionSet&) override {
    const std::vector<app::BundledModel> models = app::run_models();
    if (as_json)
      app::print_json(app::to_json(models));
    else if (models.empty())
      fail("set MDSM_MODELS to the folder they are in", "no models were found");
    else
      app::print(models);
    return 0;
  }

 private:
};

}  // namespace

std::unique_ptr<Command> make_models() { return std::make_unique<Models>(); }

}  // namespace mdsm::cli

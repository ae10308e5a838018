#include <cstdio>

#include "cli/command.h"
#include "core/error.h"
#include "model/spec.h"

namespace mdsm::cli {
namespace {

class Describe : public Command {
 public:
  const char* name() const override { return "describe"; }
  const char* summary() const override { return "Print a network's layers, parameters, cost and memory"; }
  void declare(OptionSet& options) override {
    options.group("Network");
    options.add("net", network_, "network").choices({"res6", "res12", "res18", "res34"});
    options.add("width", spec_.width, "channels after the first convolution");
  }
  int run(OptionSet&) override {
    spec_.network = network_from(network_);
    fmt::print("{} parameters, {} multiply-adds an image\n", parameter_count(spec_), multiply_adds(spec_));
    return 0;
  }

 private:
  Spec spec_;
  std::string network_ = "res12";
};

}  // namespace

std::unique_ptr<Command> make_describe() { return std::make_unique<Describe>(); }

}  // namespace mdsm::cli

// mdsm models: the models that come with the program.
#include "cli/command.h"
#include "app/model_use.h"
#include "app/output.h"
#include "core/error.h"
#include "core/memory.h"
#include "network/bundled.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

json facts_of(const std::string& name) {
  const fs::path path = *network::find_bundled(name);
  const network::Model model = network::load_model(path);
  const json trained = model.info.value("trained", json::object());
  return {{"name", name},
          {"file", path.string()},
          {"bytes", fs::file_size(path)},
          {"spec", to_json(model.parameters.spec())},
          {"parameters", network::parameter_count(model.parameters.spec())},
          {"data", trained.is_object() ? trained.value("data", json()) : json()},
          {"updates", trained.is_object() ? trained.value("step", json()) : json()}};
}

class Models : public Command {
 public:
  const char* name() const override { return "models"; }
  const char* summary() const override { return "List the models that come with mdsm"; }
  void declare(OptionSet& options) override {
    options.group("Output");
    options.add("json", json_, "print JSON for machines").command_line_only();
    options.example("mdsm models");
    options.example("mdsm sample --model fashion-mnist --sampler fast");
  }

  int run(OptionSet&) override {
    json all = json::array();
    for (const std::string& name : app::bundled_models()) all.push_back(facts_of(name));
    if (json_) {
      app::print_json(all);
      return 0;
    }
    if (all.empty()) fail("set MDSM_MODELS to the folder they are in", "no models were found");
    for (const json& one : all) {
      const json& spec = one["spec"];
      fmt::print("{:<16}{} width {}, {}x{}x{}, {}{}; {}\n", one["name"].get<std::string>(),
                 spec["network"].get<std::string>(), spec["width"].get<int64_t>(),
                 spec["channels"].get<int64_t>(), spec["size"].get<int64_t>(), spec["size"].get<int64_t>(),
                 one["data"].is_string() ? "trained on " + one["data"].get<std::string>() : "of unknown data",
                 one["updates"].is_number()
                     ? fmt::format(", {} updates", app::grouped(one["updates"].get<int64_t>()))
                     : "",
                 bytes_text(one["bytes"].get<double>()));
    }
    fmt::print("\nTheir names stand for files wherever a command takes a model; cards are in docs/models.\n");
    return 0;
  }

 private:
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_models() { return std::make_unique<Models>(); }

}  // namespace mdsm::cli

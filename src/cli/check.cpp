#include <nlohmann/json.hpp>

#include "cli/command.h"
#include "app/network_options.h"
#include "core/error.h"
#include "core/threads.h"
#include "engine/registry/network_check.h"
#include "engine/registry/torch_loader.h"
#include "network/model_file.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

// JSON has no infinity and no NaN; such a difference is written as null.
json to_json(const engine::NetworkCheck& check, const network::Spec& spec) {
  json rows = json::array();
  for (const engine::Difference& d : check.differences)
    rows.push_back({{"what", d.what},
                    {"relative_error", d.relative},
                    {"tolerance", d.tolerance},
                    {"ok", d.ok()},
                    {"worst_place", d.worst_place}});
  return {{"spec", to_json(spec)}, {"tested", check.tested},      {"reference", check.reference},
          {"ok", check.ok()},      {"worst", check.worst().what}, {"differences", rows}};
}

std::string spec_text(const network::Spec& spec) {
  return fmt::format("{} {} width {} {}x{}x{}", to_string(spec.network), to_string(spec.head), spec.width,
                     spec.channels, spec.size, spec.size);
}

class Check : public Command {
 public:
  const char* name() const override { return "check"; }
  const char* summary() const override {
    return "Compare the native engine with LibTorch's autograd on one network or all";
  }
  void declare(OptionSet& options) override {
    options.group("Network");
    options.add("model", model_, "check the weights of this model file, run folder or bundled model")
        .meta("MODEL");
    options.add("all", all_, "every network, head, 1 and 3 channels, 32 and 64 pixels, one line each");
    network_.declare(options);
    options.group("Check");
    options.add("batch", check_.batch, "images").range(1, 4096);
    options.add("seed", seed_, "seed of weights, images and noise").range(0);
    options.add("device", check_.device, "where LibTorch computes: cpu, cuda or cuda:K").meta("DEVICE");
    options.add("threads", threads_, "CPU threads; 0 takes all").range(0, 1024);
    options.add("json", json_, "print JSON for machines").command_line_only();
    options.example("mdsm check --net res12 --width 16");
    options.example("mdsm check --all");
  }

  int run(OptionSet& options) override {
    if (all_ || !model_.empty()) network_.exclude(options, all_ ? "all" : "model");
    if (all_ && !model_.empty()) fail_usage("give one of the two", "--all and --model exclude each other");
    set_thread_count(static_cast<int>(threads_));
    check_.seed = static_cast<uint64_t>(seed_);
    return all_ ? run_all() : run_one();
  }

 private:
  network::Parameters parameters() const {
    if (!model_.empty()) return network::load_model(model_).parameters;
    return network::Parameters::initialised(network_.spec(), check_.seed);
  }

  int run_one() const {
    const network::Parameters checked = parameters();
    const engine::NetworkCheck check = engine::check_network(checked, check_);
    if (json_) {
      fmt::print("{}\n", to_json(check, checked.spec()).dump(2));
      return check.ok() ? 0 : 1;
    }
    fmt::print("{}, batch {}: {} against {}, LibTorch {}\n\n", spec_text(checked.spec()), check_.batch,
               check.tested, check.reference, engine::torch_version());
    constexpr const char* kRow = "{:<50}{:>10}  {:>9}  {:<5} {}\n";
    fmt::print(kRow, "what", "rel. error", "tolerance", "", "largest difference at");
    for (const engine::Difference& d : check.differences)
      fmt::print(kRow, d.what, fmt::format("{:.1e}", d.relative), fmt::format("{:.0e}", d.tolerance),
                 d.ok() ? "ok" : "WRONG", d.worst_place);
    fmt::print("\n{}\n", check.ok() ? "all within tolerance" : "some differences exceed their tolerance");
    return check.ok() ? 0 : 1;
  }

  int run_all() const {
    constexpr const char* kRow = "{:<36}{:>9}{:>9}{:>10}{:>10}{:>11}{:>9}  {}\n";
    if (!json_)
      fmt::print(kRow, "network", "energy", "grad_x", "residual", "gradient", "parameter", "slopes", "");
    json rows = json::array();
    engine::Difference worst;
    std::string worst_spec;
    bool ok = true;
    for (const network::Spec& spec : engine::check_matrix()) {
      const engine::NetworkCheck check = engine::check_network(network::Parameters::initialised(spec, check_.seed), check_);
      ok = ok && check.ok();
      if (const double gradient = check.at("gradient").relative; !(gradient <= worst.relative)) {
        worst = check.at("gradient");
        worst_spec = spec_text(spec);
      }
      rows.push_back(to_json(check, spec));
      if (!json_) print_row(kRow, spec, check);
    }
    if (json_)
      fmt::print("{}\n", json{{"ok", ok}, {"checks", rows}}.dump(2));
    else
      fmt::print("\nworst gradient {:.1e} ({}, {}); {}\n", worst.relative, worst_spec, worst.worst_place,
                 ok ? "all within tolerance" : "some differences exceed their tolerance");
    return ok ? 0 : 1;
  }

  static void print_row(const char* row, const network::Spec& spec, const engine::NetworkCheck& check) {
    const auto number = [](double value) { return fmt::format("{:.1e}", value); };
    double parameter = 0, slope = 0;
    for (const engine::Difference& d : check.differences) {
      if (d.what.rfind("gradient of ", 0) == 0 && !(d.relative <= parameter)) parameter = d.relative;
      if (d.what.find(" against ") != std::string::npos && !(d.relative <= slope)) slope = d.relative;
    }
    fmt::print(fmt::runtime(row), spec_text(spec), number(check.at("energy").relative),
               number(check.at("grad_x").relative), number(check.at("residual").relative),
               number(check.at("gradient").relative), number(parameter), number(slope),
               check.ok() ? "ok" : "WRONG: " + check.worst().what);
    std::fflush(stdout);
  }

  engine::NetworkCheckOptions check_;
  app::NetworkOptions network_;
  std::string model_;
  int64_t seed_ = 0, threads_ = 0;
  bool all_ = false, json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_check() { return std::make_unique<Check>(); }

}  // namespace mdsm::cli

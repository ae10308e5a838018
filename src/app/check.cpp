#include "app/check.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>

#include "app/engine_options.h"
#include "engine/registry/torch_loader.h"
#include "network/model_file.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

constexpr const char* kAllRow = "{:<36}{:>9}{:>9}{:>10}{:>10}{:>11}{:>9}  {}\n";

CheckResult check_one(const network::Parameters& parameters, const engine::NetworkCheckOptions& options) {
  engine::NetworkCheck check = engine::check_network(parameters, options);
  return {parameters.spec(), options.batch, engine::torch_version(), std::move(check)};
}

network::Parameters parameters_of(const CheckOptions& options) {
  if (!options.model.empty()) return network::load_model(options.model).parameters;
  return network::Parameters::random(options.spec, options.check.seed);
}

std::string spec_text(const network::Spec& spec) {
  return fmt::format("{} {} width {} {}x{}x{}", to_string(spec.network), to_string(spec.head), spec.width,
                     spec.channels, spec.size, spec.size);
}

std::string number(double value) { return fmt::format("{:.1e}", value); }

const char* verdict(bool ok) {
  return ok ? "all within tolerance" : "some differences exceed their tolerance";
}

}  // namespace

bool CheckAllResult::ok() const { return std::ranges::all_of(networks, &CheckResult::ok); }

CheckResult run_check(const CheckOptions& options) {
  use_threads(options.threads);
  return check_one(parameters_of(options), options.check);
}

CheckAllResult run_check_all(const CheckOptions& options,
                             const std::function<void(const CheckResult&)>& done) {
  use_threads(options.threads);
  CheckAllResult result;
  for (const network::Spec& spec : engine::check_matrix()) {
    result.networks.push_back(
        check_one(network::Parameters::random(spec, options.check.seed), options.check));
    done(result.networks.back());
  }
  return result;
}

json to_json(const CheckResult& result) {
  json rows = json::array();
  for (const engine::Difference& d : result.check.differences)
    rows.push_back({{"what", d.what},
                    {"relative_error", d.relative},
                    {"tolerance", d.tolerance},
                    {"ok", d.ok()},
                    {"worst_place", d.worst_place}});
  return {{"spec", to_json(result.spec)},        {"tested", result.check.tested},
          {"reference", result.check.reference}, {"ok", result.ok()},
          {"worst", result.check.worst().what},  {"differences", rows}};
}

json to_json(const CheckAllResult& result) {
  json rows = json::array();
  for (const CheckResult& one : result.networks) rows.push_back(to_json(one));
  return {{"ok", result.ok()}, {"checks", rows}};
}

void print(const CheckResult& result) {
  fmt::print("{}, batch {}: {} against {}, LibTorch {}\n\n", spec_text(result.spec), result.batch,
             result.check.tested, result.check.reference, result.torch_version);
  constexpr const char* kRow = "{:<50}{:>10}  {:>9}  {:<5} {}\n";
  fmt::print(kRow, "what", "rel. error", "tolerance", "", "largest difference at");
  for (const engine::Difference& d : result.check.differences)
    fmt::print(kRow, d.what, number(d.relative), fmt::format("{:.0e}", d.tolerance), d.ok() ? "ok" : "WRONG",
               d.worst_place);
  fmt::print("\n{}\n", verdict(result.ok()));
}

void print_check_heading() {
  fmt::print(kAllRow, "network", "energy", "grad_x", "residual", "gradient", "parameter", "slopes", "");
}

void print_check_row(const CheckResult& result) {
  const engine::NetworkCheck& check = result.check;
  double parameter = 0, slope = 0;  // the worst; not a number stays the worst
  for (const engine::Difference& d : check.differences) {
    if (d.what.starts_with("gradient of ") && !(d.relative <= parameter)) parameter = d.relative;
    if (d.what.find(" against ") != std::string::npos && !(d.relative <= slope)) slope = d.relative;
  }
  fmt::print(kAllRow, spec_text(result.spec), number(check.at("energy").relative),
             number(check.at("grad_x").relative), number(check.at("residual").relative),
             number(check.at("gradient").relative), number(parameter), number(slope),
             check.ok() ? "ok" : "WRONG: " + check.worst().what);
  std::fflush(stdout);
}

void print_check_verdict(const CheckAllResult& result) {
  engine::Difference worst;
  std::string worst_spec;
  for (const CheckResult& one : result.networks)
    if (const engine::Difference& gradient = one.check.at("gradient");
        !(gradient.relative <= worst.relative)) {
      worst = gradient;
      worst_spec = spec_text(one.spec);
    }
  fmt::print("\nworst gradient {:.1e} ({}, {}); {}\n", worst.relative, worst_spec, worst.worst_place,
             verdict(result.ok()));
}

}  // namespace mdsm::app

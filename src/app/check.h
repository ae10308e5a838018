// What `mdsm check` does: the native engine against LibTorch's autograd on one network, or on every one of
// engine::check_matrix(), which takes minutes and so reports each as it is done.
#pragma once

#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "engine/registry/network_check.h"
#include "network/spec.h"

namespace mdsm::app {

struct CheckOptions {
  std::string model;   // file, run folder or bundled model; empty: random weights for `spec`
  network::Spec spec;  // checked
  engine::NetworkCheckOptions check;
  int64_t threads = 0;  // 0: all
};

struct CheckResult {
  network::Spec spec;
  int64_t batch = 0;
  std::string torch_version;
  engine::NetworkCheck check;

  bool ok() const { return check.ok(); }
};

struct CheckAllResult {
  std::vector<CheckResult> networks;

  bool ok() const;
};

CheckResult run_check(const CheckOptions& options);
// model and spec are of no account here. done: gets each network's result at once.
CheckAllResult run_check_all(const CheckOptions& options,
                             const std::function<void(const CheckResult&)>& done);

// JSON has no infinity and no NaN; such a difference is written as null.
nlohmann::json to_json(const CheckResult& result);
nlohmann::json to_json(const CheckAllResult& result);

void print(const CheckResult& result);
// The table of all networks: its heading, a row as soon as there is one, and the verdict.
void print_check_heading();
void print_check_row(const CheckResult& result);
void print_check_verdict(const CheckAllResult& result);

}  // namespace mdsm::app

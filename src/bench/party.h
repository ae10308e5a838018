// One side of a benchmark: a worker process (ours or a peer) that has been given a problem.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>

#include "bench/configuration.h"
#include "core/child_process.h"
#include "core/files.h"
#include "engine/registry/registry.h"

namespace mdsm::bench {

// How to start a side.
struct Contestant {
  std::string name;  // for messages and tables: "mdsm", "PyTorch"
  std::vector<std::string> command;
  Environment environment = {};
  double timeout = 600;  // seconds for one answer
};

// This program as a worker.
Contestant our_side(double timeout);
// peer.py under the given interpreter. Empty names are looked for: Debian's python3, which has python3-torch,
// before the one in PATH; bench/peers/peer.py beside the build or installed folder of this program.
Contestant peer_side(const std::string& python, const std::string& script, double timeout);

struct SideOptions {
  int threads = 2;
  uint64_t seed = 0;
  bool exact = false;  // ours only: direct convolutions
  engine::Precision precision = engine::Precision::float32;
};

// "the PyTorch side of the benchmark": how messages name a side.
std::string side_title(const std::string& name);

class Party {
 public:
  explicit Party(const Contestant& contestant);

  // Sends {"do": what, ...more}; an answer that is an error or no JSON object is thrown.
  nlohmann::json ask(const std::string& what, nlohmann::json more = nlohmann::json::object());
  void set_up(const fs::path& problem, const Configuration& config, const SideOptions& options);
  // Mean seconds of `repeat` steps ("train", "langevin", "langevin-input").
  double time(const std::string& what, int64_t repeat);

  const std::string& version() const { return version_; }  // what it said of itself at set_up
  double peak_memory() const { return peak_memory_; }      // bytes, as of the last answer

 private:
  std::string name_, version_;
  double timeout_, peak_memory_ = 0;
  ChildProcess process_;
};

}  // namespace mdsm::bench

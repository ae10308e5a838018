// What `mdsm serve` is told: where to listen, who may come, and what a request may cost.
#pragma once

#include <cstdint>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace mdsm::serve {

struct ServeOptions {
  std::string address = "127.0.0.1";
  int64_t port = 8080;             // 0: any that is free
  std::string token;               // what clients must show; empty: no need, which only loopback allows
  std::vector<std::string> hosts;  // names that this server is called by, besides its address
  std::string root = ".";          // runs/, models/, detectors/ and data/ lie here; jobs are kept in serve/
  int64_t queue = 100;             // jobs that may wait
  int64_t job_seconds = 3600;      // that a job may take; training is not limited
  int64_t job_memory = 0;          // megabytes that a job may take; 0: what is available at its start
  int64_t body = 32;               // megabytes of a request
  int64_t pixels = 16;             // millions, of a picture
};

// The commands of the program, which this room must not know.
struct Commands {
  std::function<nlohmann::json(const std::string& command)> describe;  // OptionSet::description()
  // Throws where the words are no good for their command, the first of them.
  std::function<void(const std::vector<std::string>& words)> check;
};

}  // namespace mdsm::serve

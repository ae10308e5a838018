// Guard, routes and queue together, for connections of any kind. Addresses and ports are run_server.h.
#pragma once

#include <atomic>

#include "serve/api.h"
#include "serve/connection.h"
#include "serve/options.h"

namespace mdsm::serve {

// All but the sockets, so that requests can come from elsewhere (tests/fuzz). The working directory is the
// root.
class Service {
 public:
  // server: with no routes yet. port: the one it listens on. jobs: their folder.
  Service(const ServeOptions& options, const Commands& commands, GuardedServer& server, int port,
          const fs::path& jobs);
  JobQueue& queue() { return queue_; }
  const Guard& guard() const { return guard_; }

 private:
  using Outcome = httplib::Server::HandlerResponse;
  Outcome before_routing(const httplib::Request& request, httplib::Response& response);
  void read_job(httplib::Response& response, const httplib::ContentReader& reader);

  ServeOptions options_;
  Commands commands_;
  Guard guard_;
  JobQueue queue_;
  Api api_;
  std::atomic<size_t> reading_{0};  // bytes of bodies that are being read
};

Allowance allowance(const ServeOptions& options);

}  // namespace mdsm::serve

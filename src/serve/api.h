// The interface: a table of routes, each a method, a path and what answers it. page/openapi.json describes
// them; a test compares the two.
#pragma once

#include <httplib.h>

#include <string>
#include <vector>

#include "serve/guard.h"
#include "serve/job_queue.h"
#include "serve/options.h"

namespace mdsm::serve {

class Api {
 public:
  Api(const ServeOptions& options, const Commands& commands, const Guard& guard, JobQueue& queue,
      const std::atomic<bool>& stop);

  // Whether a POST of this path has a body that matters, for add_job().
  static bool takes_body(const httplib::Request& request) {
    return request.method == "POST" && request.path == "/api/jobs";
  }
  // Everything else: the page, and what the table has. 404 where it has nothing.
  void answer(const httplib::Request& request, httplib::Response& response) const;
  void add_job(const std::string& body, httplib::Response& response) const;

 private:
  using Arguments = std::vector<std::string>;
  using Answer = void (Api::*)(const Arguments&, httplib::Response&) const;
  struct Route {
    const char *method, *path;
    Answer answer;
  };
  static const std::vector<Route>& routes();
  friend std::vector<std::string> route_names();

  void session(const Arguments&, httplib::Response&) const;
  void description(const Arguments&, httplib::Response&) const;
  void kinds(const Arguments&, httplib::Response&) const;
  void models(const Arguments&, httplib::Response&) const;
  void data(const Arguments&, httplib::Response&) const;
  void sampler(const Arguments&, httplib::Response&) const;
  void detectors(const Arguments&, httplib::Response&) const;
  void detector(const Arguments&, httplib::Response&) const;
  void runs(const Arguments&, httplib::Response&) const;
  void run(const Arguments&, httplib::Response&) const;
  void run_stream(const Arguments&, httplib::Response&) const;
  void run_file(const Arguments&, httplib::Response&) const;
  void jobs(const Arguments&, httplib::Response&) const;
  void job(const Arguments&, httplib::Response&) const;
  void job_stream(const Arguments&, httplib::Response&) const;
  void job_file(const Arguments&, httplib::Response&) const;
  void cancel(const Arguments&, httplib::Response&) const;
  void remove(const Arguments&, httplib::Response&) const;
  void new_job(const Arguments&, httplib::Response&) const;  // for the table: add_job() has the body

  nlohmann::json facts_of(const Job& job) const;

  const ServeOptions& options_;
  const Commands& commands_;
  const Guard& guard_;
  JobQueue& queue_;
  const std::atomic<bool>& stop_;
};

std::vector<std::string> route_names();  // "GET /api/jobs/{id}"
void answer_json(httplib::Response& response, const nlohmann::json& values, int status = 200);
void answer_error(httplib::Response& response, int status, const std::string& what);

}  // namespace mdsm::serve

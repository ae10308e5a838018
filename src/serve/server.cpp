#include "serve/server.h"

#include "core/error.h"

namespace mdsm::serve {
namespace {

constexpr size_t kBodiesInMemory = 8;  // full ones, of all connections together

QueueLimits limits(const ServeOptions& options) {
  QueueLimits found;
  found.waiting = static_cast<size_t>(options.queue);
  found.seconds = static_cast<double>(options.job_seconds);
  found.memory = static_cast<size_t>(options.job_memory) << 20;
  return found;
}

}  // namespace

Allowance allowance(const ServeOptions& options) {
  Allowance found;
  found.body = static_cast<size_t>(options.body + 1) << 20;
  return found;
}

Service::Service(const ServeOptions& options, const Commands& commands, GuardedServer& server, int port,
                 const fs::path& jobs)
    : options_(options),
      commands_(commands),
      guard_(options, port),
      queue_(jobs, limits(options)),
      api_(options_, commands_, guard_, queue_, server.stopping()) {
  server.set_tcp_nodelay(true);
  server.set_default_headers(safe_headers());
  server.set_pre_routing_handler([this](const httplib::Request& request, httplib::Response& response) {
    return before_routing(request, response);
  });
  server.Post("/api/jobs", [this](const httplib::Request&, httplib::Response& response,
                                  const httplib::ContentReader& reader) { read_job(response, reader); });
  server.set_error_handler([](const httplib::Request&, httplib::Response& response) {
    if (response.body.empty()) answer_error(response, response.status, "refused");
  });
  server.set_exception_handler([](const httplib::Request&, httplib::Response& response, std::exception_ptr) {
    answer_error(response, 500, "something went wrong here; the log of the server may say what");
  });
}

Service::Outcome Service::before_routing(const httplib::Request& request, httplib::Response& response) {
  const auto refusal = guard_.refusal(request);
  if (refusal && refusal->status == 401 && request.path == "/" &&
      guard_.is_token(request.get_param_value("token"))) {
    response.set_header("Set-Cookie", fmt::format("{}={}; Path=/; HttpOnly; SameSite=Strict", kCookie,
                                                  request.get_param_value("token")));
    response.set_redirect("/", 303);
    return Outcome::Handled;
  }
  if (!refusal && Api::takes_body(request)) return Outcome::Unhandled;
  if (refusal)
    answer_error(response, refusal->status, fmt::format("{}; {}", refusal->what, refusal->hint));
  else
    api_.answer(request, response);
  if (request.has_header("Content-Length") || request.has_header("Transfer-Encoding"))
    GuardedServer::close_after_this();
  return Outcome::Handled;
}

void Service::read_job(httplib::Response& response, const httplib::ContentReader& reader) {
  const size_t most = static_cast<size_t>(options_.body) << 20;
  struct Share {
    std::atomic<size_t>& all;
    size_t own = 0;
    ~Share() { all -= own; }
  } share{reading_};
  std::string body;
  bool large = false, busy = false;
  const bool whole = reader([&](const char* data, size_t size) {
    share.own += size;
    busy = (reading_ += size) > kBodiesInMemory * most;
    large = body.size() + size > most;
    if (!large && !busy) body.append(data, size);
    return !large && !busy;
  });
  if (!whole) GuardedServer::close_after_this();
  if (large) return answer_error(response, 413, fmt::format("the body has more than {} MB", options_.body));
  if (busy) return answer_error(response, 503, "too many bodies at once; try again later");
  if (!whole) return answer_error(response, 400, "the body ends early");
  api_.add_job(body, response);
}

}  // namespace mdsm::serve

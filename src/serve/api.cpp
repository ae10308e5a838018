#include "serve/api.h"

#include <algorithm>
#include <array>
#include <fstream>

#include "app/version.h"
#include "core/error.h"
#include "core/json.h"
#include "serve/assets.h"
#include "serve/catalogue.h"
#include "serve/events.h"
#include "serve/job_kinds.h"
#include "serve/names.h"

namespace mdsm::serve {

using httplib::Response;
using nlohmann::json;

namespace {

constexpr size_t kLongestList = 1000;

// The next part of a file: however many ask for however much, it takes little memory, and a slow client has
// the time of a write for each part.
bool send_part(std::ifstream& in, size_t offset, size_t left, httplib::DataSink& sink) {
  std::array<char, 65536> part;
  in.seekg(static_cast<std::streamoff>(offset)).read(part.data(), std::min(left, part.size()));
  return in.gcount() > 0 && sink.write(part.data(), static_cast<size_t>(in.gcount()));
}

void answer_file(Response& response, const std::optional<fs::path>& file) {
  std::error_code error;
  if (!file || !fs::is_regular_file(*file, error)) return answer_error(response, 404, "no such file");
  const auto in = std::make_shared<std::ifstream>(*file, std::ios::binary | std::ios::ate);
  if (!*in) return answer_error(response, 404, "no such file");
  const auto size = static_cast<size_t>(in->tellg());
  const std::string type(content_type(file->string()));
  if (size == 0) return response.set_content("", type.c_str());
  response.set_content_provider(size, type.c_str(),
                                [in](size_t offset, size_t left, httplib::DataSink& sink) {
                                  return send_part(*in, offset, left, sink);
                                });
}

// Files below a folder, as paths from it. A job may be writing there: what has gone meanwhile is no error.
json files_below(const fs::path& folder) {
  constexpr size_t kMost = 2000;
  std::error_code error;
  std::vector<std::string> found;
  for (fs::recursive_directory_iterator entry(folder, error), end; entry != end && found.size() < kMost;
       entry.increment(error))
    if (entry->is_regular_file(error)) found.push_back(entry->path().lexically_relative(folder).string());
  std::erase_if(found,
                [](const std::string& name) { return plain_parts(name).empty() || name.ends_with("lock"); });
  std::ranges::sort(found);
  return found;
}

std::string joined(const std::vector<std::string>& parts, size_t first) {
  return fmt::format("{}", fmt::join(parts.begin() + static_cast<int64_t>(first), parts.end(), "/"));
}

// The arguments of a path that a pattern fits; {x...} takes all that is left.
std::optional<std::vector<std::string>> match(std::string_view pattern,
                                              const std::vector<std::string>& parts) {
  std::vector<std::string> arguments;
  size_t i = 0;
  for (size_t first = 1; first <= pattern.size(); ++i) {
    const size_t end = std::min(pattern.find('/', first), pattern.size());
    const std::string_view part = pattern.substr(first, end - first);
    first = end + 1;
    if (i >= parts.size()) return std::nullopt;
    if (part.ends_with("...}")) {
      arguments.push_back(joined(parts, i));
      return arguments;
    }
    if (part.starts_with('{'))
      arguments.push_back(parts[i]);
    else if (part != parts[i])
      return std::nullopt;
  }
  return i == parts.size() ? std::optional(arguments) : std::nullopt;
}

}  // namespace

void answer_json(Response& response, const json& values, int status) {
  response.status = status;
  response.set_content(json_text(values), "application/json");
}

void answer_error(Response& response, int status, const std::string& what) {
  answer_json(response, {{"error", what}}, status);
}

Api::Api(const ServeOptions& options, const Commands& commands, const Guard& guard, JobQueue& queue,
         const std::atomic<bool>& stop)
    : options_(options), commands_(commands), guard_(guard), queue_(queue), stop_(stop) {}

const std::vector<Api::Route>& Api::routes() {
  static const std::vector<Route> rows = {
      {"GET", "/api/session", &Api::session},
      {"GET", "/api/openapi.json", &Api::description},
      {"GET", "/api/kinds", &Api::kinds},
      {"GET", "/api/models", &Api::models},
      {"GET", "/api/data", &Api::data},
      {"GET", "/api/samplers/{sampler}/{model...}", &Api::sampler},
      {"GET", "/api/detectors", &Api::detectors},
      {"GET", "/api/detectors/{name}", &Api::detector},
      {"GET", "/api/runs", &Api::runs},
      {"GET", "/api/runs/{run}", &Api::run},
      {"GET", "/api/runs/{run}/events", &Api::run_stream},
      {"GET", "/api/runs/{run}/files/{file}", &Api::run_file},
      {"GET", "/api/jobs", &Api::jobs},
      {"POST", "/api/jobs", &Api::new_job},
      {"GET", "/api/jobs/{id}", &Api::job},
      {"DELETE", "/api/jobs/{id}", &Api::remove},
      {"POST", "/api/jobs/{id}/cancel", &Api::cancel},
      {"GET", "/api/jobs/{id}/events", &Api::job_stream},
      {"GET", "/api/jobs/{id}/files/{path...}", &Api::job_file},
  };
  return rows;
}

std::vector<std::string> route_names() {
  std::vector<std::string> names;
  for (const Api::Route& route : Api::routes())
    names.push_back(fmt::format("{} {}", route.method, route.path));
  return names;
}

void Api::answer(const httplib::Request& request, Response& response) const {
  const std::string_view path = request.path;
  if (request.method == "GET" || request.method == "HEAD") {
    const std::string_view name = path == "/" ? "index.html" : path.substr(std::min<size_t>(1, path.size()));
    if (const Asset* asset = find_asset(name))
      return response.set_content(asset->content.data(), asset->content.size(),
                                  std::string(content_type(asset->name)).c_str());
  }
  const std::vector<std::string> parts =
      path.starts_with("/") ? plain_parts(path.substr(1)) : std::vector<std::string>{};
  const std::string method = request.method == "HEAD" ? "GET" : request.method;
  bool known = false;
  for (const Route& route : routes()) {
    const auto arguments = parts.empty() ? std::nullopt : match(route.path, parts);
    known = known || arguments;
    if (!arguments || method != route.method) continue;
    try {
      return (this->*route.answer)(*arguments, response);
    } catch (const Error& error) {
      return answer_error(response, error.kind() == ErrorKind::usage ? 404 : 500, error.what());
    }
  }
  answer_error(response, known ? 405 : 404, known ? "the path has no such method" : "no such path");
}

void Api::session(const Arguments&, Response& response) const {
  const std::string version = app::version_text();
  answer_json(response, {{"csrf", guard_.csrf()},
                         {"version", version.substr(0, version.find('\n'))},
                         {"limits",
                          {{"megabytes", options_.body},
                           {"megapixels", options_.pixels},
                           {"waiting", options_.queue},
                           {"seconds", options_.job_seconds}}}});
}

void Api::description(const Arguments&, Response& response) const {
  const Asset* asset = find_asset("openapi.json");
  response.set_content(asset->content.data(), asset->content.size(), "application/json");
}

void Api::kinds(const Arguments&, Response& response) const {
  json all = json::array();
  for (const JobKind& kind : job_kinds())
    all.push_back({{"name", kind.name},
                   {"command", kind.command},
                   {"pictures", {kind.fewest, kind.most}},
                   {"mask", kind.mask},
                   {"options", offered_options(kind, commands_)}});
  answer_json(response, all);
}

void Api::models(const Arguments&, Response& response) const { answer_json(response, model_list()); }
void Api::data(const Arguments&, Response& response) const { answer_json(response, data_list()); }
void Api::sampler(const Arguments& given, Response& response) const {
  answer_json(response, sampler_defaults(given[0], given[1]));
}
void Api::detectors(const Arguments&, Response& response) const { answer_json(response, detector_list()); }
void Api::detector(const Arguments& given, Response& response) const {
  answer_json(response, detector_facts(given[0]));
}

void Api::runs(const Arguments&, Response& response) const { answer_json(response, run_list()); }
void Api::run(const Arguments& given, Response& response) const {
  answer_json(response, {{"facts", run_facts(given[0])}, {"curve", run_curve(given[0])}});
}
void Api::run_stream(const Arguments& given, Response& response) const {
  run_place(given[0]);
  stream(response, run_events(given[0]), stop_);
}
// Pictures and text; weights stay here.
void Api::run_file(const Arguments& given, Response& response) const {
  const bool shown = content_type(given[1]) != "application/octet-stream";
  answer_file(response, shown ? inside(run_place(given[0]), given[1]) : std::nullopt);
}

json Api::facts_of(const Job& job) const {
  json facts = to_json(job);
  const fs::path folder = queue_.folder_of(job.id);
  facts["files"] = files_below(folder / "out");
  std::error_code error;
  facts["result"] = job.state == JobState::done && fs::file_size(folder / "output.json", error) > 0 && !error
                        ? parse_json(read_text(folder / "output.json"))
                        : json();
  if (facts["result"].is_discarded()) facts["result"] = json();
  facts["run"] = run_of(job).filename().string();
  return facts;
}

void Api::jobs(const Arguments&, Response& response) const {
  json all = json::array();
  for (const Job& one : queue_.all()) all.push_back(to_json(one));
  answer_json(response, all);
}

void Api::job(const Arguments& given, Response& response) const {
  const std::optional<Job> found = queue_.find(given[0]);
  found ? answer_json(response, facts_of(*found)) : answer_error(response, 404, "no such job");
}

void Api::job_stream(const Arguments& given, Response& response) const {
  if (!queue_.find(given[0])) return answer_error(response, 404, "no such job");
  stream(response, job_events(queue_, given[0], [this](const Job& one) { return facts_of(one); }), stop_);
}

void Api::job_file(const Arguments& given, Response& response) const {
  if (!queue_.find(given[0])) return answer_error(response, 404, "no such job");
  const bool result =
      given[1].starts_with("out/") || given[1].starts_with("picture-") || given[1] == "mask.png";
  answer_file(response, result ? inside(queue_.folder_of(given[0]), given[1]) : std::nullopt);
}

void Api::cancel(const Arguments& given, Response& response) const {
  const bool known = queue_.find(given[0]).has_value();
  if (!known) return answer_error(response, 404, "no such job");
  answer_json(response, {{"cancelled", queue_.cancel(given[0])}}, 202);
}

void Api::remove(const Arguments& given, Response& response) const {
  if (!queue_.find(given[0])) return answer_error(response, 404, "no such job");
  if (!queue_.remove(given[0])) return answer_error(response, 409, "the job is not over; cancel it first");
  answer_json(response, {{"removed", true}});
}

void Api::new_job(const Arguments&, Response& response) const { answer_error(response, 400, "no body"); }

void Api::add_job(const std::string& body, Response& response) const {
  json request;
  try {
    request = parse_strict_json(body, kLongestList);
  } catch (const JsonError& error) {
    return answer_error(response, 400, error.what());
  }
  if (request.is_discarded()) return answer_error(response, 400, "the body is not JSON, or nests too deeply");
  try {
    const auto job =
        queue_.add([&](const fs::path& folder) { return make_job(request, folder, options_, commands_); });
    if (!job)
      return answer_error(response, 429,
                          fmt::format("{} jobs wait already; try again later", options_.queue));
    answer_json(response, facts_of(*job), 201);
  } catch (const JsonError& error) {
    answer_error(response, 422, error.what());
  } catch (const Error& error) {
    answer_error(response, 422, error.what());
  }
}

}  // namespace mdsm::serve

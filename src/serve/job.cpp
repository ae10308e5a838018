#include "serve/job.h"

#include <algorithm>
#include <cstring>

#include "core/error.h"
#include "core/json.h"

namespace mdsm::serve {
namespace {

using nlohmann::json;

// Words that only the server needs.
bool is_own(const std::string& word) {
  return word == "--json" || word == "--live" || word == "--format=json";
}

std::string quoted(const std::string& word) {
  const auto harmless = [](char c) {
    return std::isalnum(static_cast<unsigned char>(c)) || std::strchr("-_./,:=+", c);
  };
  if (!word.empty() && std::ranges::all_of(word, harmless)) return word;
  std::string out = "'";
  for (const char c : word) out += c == '\'' ? "'\\''" : std::string(1, c);
  return out + "'";
}

std::string python_text(const std::string& value) {
  if (const json number = parse_json(value); number.is_number() || number.is_boolean())
    return number.is_boolean() ? (value == "true" ? "True" : "False") : value;
  return json_text(json(value));
}

}  // namespace

json to_json(const Job& job) {
  return {{"id", job.id},
          {"command", job.command},
          {"lane", job.lane},
          {"words", job.words},
          {"options", job.options},
          {"state", to_string(job.state)},
          {"again", job.again},
          {"created", job.created},
          {"started", job.started},
          {"ended", job.ended},
          {"error", job.error},
          {"progress", job.progress},
          {"shell", command_line(job)},
          {"python", python_call(job)}};
}

Job job_from_json(std::string_view text, const std::string& where) {
  const JsonObject values = JsonObject::parse(text, [&](const std::string& what) {
    fail("remove the folder of the job", "{}: damaged: {}", where, what);
  });
  Job job;
  job.id = values.get<std::string>("id");
  job.command = values.get<std::string>("command");
  job.lane = values.get<std::string>("lane");
  job.words = values.get<std::vector<std::string>>("words");
  job.options = values.object("options").values();
  job.state = from_name<JobState>(values.get<std::string>("state"), where);
  job.again = values.at("again") == json(true);
  job.created = values.get<double>("created");
  job.started = values.get<double>("started");
  job.ended = values.get<double>("ended");
  job.error = values.get<std::string>("error");
  return job;
}

std::string command_line(const Job& job) {
  std::string text = "mdsm";
  for (const std::string& word : job.words)
    if (!is_own(word)) text.append(" ").append(quoted(word));
  return text;
}

std::string python_call(const Job& job) {
  std::string places, options;
  for (const std::string& word : job.words) {
    if (is_own(word)) continue;
    if (!word.starts_with("--")) {
      places += (places.empty() ? "" : ", ") + json_text(json(word));
      continue;
    }
    const size_t equals = word.find('=');
    std::string name = word.substr(2, equals == std::string::npos ? equals : equals - 2);
    std::ranges::replace(name, '-', '_');
    options += fmt::format(", {}={}", name,
                           equals == std::string::npos ? "True" : python_text(word.substr(equals + 1)));
  }
  return fmt::format("mdsm.run({}{})", places, options);
}

}  // namespace mdsm::serve

// What a request may ask for: one row for each kind of job says which options it may give and what it needs
// beside them. Names in requests become places under the root here, and nowhere else.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/files.h"
#include "serve/job.h"
#include "serve/options.h"

namespace mdsm::serve {

struct JobKind {
  std::string name, command;
  std::vector<std::string> groups;     // of options, whose values a request may give
  std::vector<std::string> names;      // and single ones
  size_t fewest = 0, most = 0;         // pictures
  bool mask = false;                   // may have one
  std::vector<std::string> own_words;  // {} is the folder of the job, {id} its name
};

const std::vector<JobKind>& job_kinds();
const JobKind& job_kind(const std::string& name);  // throws

// The options that a request for this kind may give, as OptionSet::description() has them.
nlohmann::json offered_options(const JobKind& kind, const Commands& commands);

// A job of a request: {"kind", "options", "pictures", "mask"}. Writes the pictures, decoded and written anew,
// to the folder, which is serve/jobs/ID under the working directory; throws what is wrong with the request.
Job make_job(const nlohmann::json& request, const fs::path& folder, const ServeOptions& options,
             const Commands& commands);

// The words of a job that a server has started before: it goes on where it can.
std::vector<std::string> words_again(const Job& job, const fs::path& folder);

// The run folder that a training job has made or works in; empty: none yet.
fs::path run_of(const Job& job);

}  // namespace mdsm::serve

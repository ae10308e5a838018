// A job: one command of the program with options from a request, as a process of its own. What is kept of it
// lies in a folder: job.json, the pictures it was given, its results, and what it printed.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "core/enum_names.h"
#include "core/files.h"

namespace mdsm::serve {

enum class JobState { queued, running, done, failed, cancelled };
constexpr auto enum_names(JobState) {
  return names_of<JobState>({{JobState::queued, "queued"},
                             {JobState::running, "running"},
                             {JobState::done, "done"},
                             {JobState::failed, "failed"},
                             {JobState::cancelled, "cancelled"}});
}

struct Job {
  std::string id;                  // "000012", the name of its folder
  std::string command, lane;       // one job of a lane runs at a time: its engine, or "train"
  std::vector<std::string> words;  // for a process, without the program
  nlohmann::json options = nlohmann::json::object();  // as asked for
  JobState state = JobState::queued;
  bool again = false;                          // started before, by a server that ended
  double created = 0, started = 0, ended = 0;  // seconds since 1970; 0: not yet
  std::string error;
  std::string progress;  // the last line of it; not kept

  bool over() const { return state != JobState::queued && state != JobState::running; }
};

// All but what files of the folder hold.
nlohmann::json to_json(const Job& job);
// Throws where it is none of ours.
Job job_from_json(std::string_view text, const std::string& where);

// The same for a shell and for Python; without what only the server needs.
std::string command_line(const Job& job);
std::string python_call(const Job& job);

}  // namespace mdsm::serve

// Server-sent events: what becomes of a job, with its images as they form, and of a run that a training
// writes.
#pragma once

#include <httplib.h>

#include <functional>
#include <string>

#include "serve/job_queue.h"

namespace mdsm::serve {

// The next event, if something has changed since the last call. `over` ends the stream after it.
struct Event {
  std::string name, data;  // no event where the name is empty
  bool over = false;
};
using NextEvent = std::function<Event()>;

// describe: a job as the interface shows it.
NextEvent job_events(const JobQueue& queue, const std::string& id,
                     const std::function<nlohmann::json(const Job&)>& describe);
// Facts and curve, whenever stats.jsonl or the previews have changed.
NextEvent run_events(const std::string& run);

// How many streams there may be; each takes a thread.
constexpr int kMostStreams = 128;
// Answers with a stream; 503 where there are too many. It ends with `stop`.
void stream(httplib::Response& response, NextEvent next, const std::atomic<bool>& stop);

}  // namespace mdsm::serve

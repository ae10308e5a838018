#include "serve/events.h"

#include <chrono>
#include <thread>

#include "core/base64.h"
#include "core/error.h"
#include "core/folder_lock.h"
#include "core/json.h"
#include "serve/catalogue.h"

namespace mdsm::serve {
namespace {

using nlohmann::json;

constexpr std::chrono::milliseconds kLookForNews{100};
constexpr int kLooksBetweenSigns = 100;  // of life, so that a client that is gone is noticed

std::atomic<int> streams{0};

// Changes whenever the file does; empty where there is none.
std::string stamp(const fs::path& file) {
  std::error_code error;
  const auto time = fs::last_write_time(file, error);
  return error ? "" : std::to_string(time.time_since_epoch().count());
}

std::string as_base64(const fs::path& file) { return base64(read_bytes(file)); }

// Whether the event could be sent; waits for it.
bool send_next(httplib::DataSink& sink, const NextEvent& next, const std::atomic<bool>& stop) {
  for (int look = 0; look < kLooksBetweenSigns; ++look) {
    if (stop || !sink.is_writable()) return false;
    const Event event = next();
    if (!event.name.empty()) {
      const std::string text = fmt::format("event: {}\ndata: {}\n\n", event.name, event.data);
      if (!sink.write(text.data(), text.size())) return false;
    }
    if (event.over) sink.done();
    if (event.over || !event.name.empty()) return true;
    std::this_thread::sleep_for(kLookForNews);
  }
  return sink.write(":\n\n", 3);
}

}  // namespace

NextEvent job_events(const JobQueue& queue, const std::string& id,
                     const std::function<json(const Job&)>& describe) {
  return [&queue, id, describe, told = std::string(), seen = std::string()]() mutable -> Event {
    const std::optional<Job> job = queue.find(id);
    if (!job) return {"gone", "{}", true};
    const fs::path out = queue.folder_of(id) / "out";
    if (const std::string now = stamp(out / "live-denoised.png"); !now.empty() && now != seen) {
      seen = now;
      return {"live",
              json_text({{"noisy", as_base64(out / "live-noisy.png")},
                         {"denoised", as_base64(out / "live-denoised.png")}}),
              false};
    }
    const std::string text = json_text(describe(*job));
    if (text == told) return {"", "", job->over()};
    told = text;
    return {"job", text, job->over()};
  };
}

NextEvent run_events(const std::string& run) {
  return [run, told = std::string()]() mutable -> Event {
    const fs::path folder = run_place(run);
    const std::string now =
        stamp(folder / "stats.jsonl") + stamp(folder) + (is_locked(folder) ? "locked" : "");
    if (now == told) return {};
    told = now;
    return {"run", json_text({{"facts", run_facts(run)}, {"curve", run_curve(run)}}), false};
  };
}

void stream(httplib::Response& response, NextEvent next, const std::atomic<bool>& stop) {
  if (++streams > kMostStreams) {
    --streams;
    response.status = 503;
    response.set_content(R"({"error":"too many streams of events; close some pages"})", "application/json");
    return;
  }
  response.set_chunked_content_provider(
      "text/event-stream",
      [next = std::move(next), &stop](size_t, httplib::DataSink& sink) {
        try {
          return send_next(sink, next, stop);
        } catch (const std::exception&) {  // a run or file that has gone
          return false;
        }
      },
      [](bool) { --streams; });
}

}  // namespace mdsm::serve

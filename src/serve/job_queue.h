// Jobs that wait, run and are over, each in its folder. One of a lane runs at a time, in the order they came.
// All that matters is on the disk before it is told, so that a server that was killed goes on with what it
// had.
#pragma once

#include <condition_variable>
#include <functional>
#include <map>
#include <mutex>
#include <optional>
#include <set>
#include <string>
#include <thread>
#include <vector>

#include "serve/job.h"

namespace mdsm::serve {

struct QueueLimits {
  size_t waiting = 100;   // jobs
  size_t kept = 1000;     // of those that are over; the oldest go
  double seconds = 3600;  // of a job; training is not limited
  size_t memory = 0;      // bytes of a job; 0: what is available when it starts
};

class JobQueue {
 public:
  // Takes up what the folder holds. Nothing runs before start().
  JobQueue(fs::path folder, const QueueLimits& limits);
  ~JobQueue();  // asks jobs to end and waits for them; the next queue goes on with them
  JobQueue(const JobQueue&) = delete;
  JobQueue& operator=(const JobQueue&) = delete;

  void start();
  // Jobs at work are asked to save and end, no other is begun. The destructor waits for them.
  void ask_to_end();
  // make(folder) gives the job for a new folder; where it throws, the folder goes. Nothing where too many
  // wait.
  std::optional<Job> add(const std::function<Job(const fs::path& folder)>& make);
  std::optional<Job> find(const std::string& id) const;
  std::vector<Job> all() const;        // the newest first
  bool cancel(const std::string& id);  // whether there was something to cancel
  bool remove(const std::string& id);  // one that is over, with its folder
  fs::path folder_of(const std::string& id) const { return folder_ / id; }

 private:
  void load();
  void keep(const Job& job) const;
  bool full() const;
  std::vector<std::string> forget_oldest();
  void ensure_lane(const std::string& lane);
  void work(const std::string& lane);
  void run(Job job);
  std::optional<Job> next(const std::string& lane);
  void update(const Job& job);

  // Numbers with leading zeros: those that outgrew them come last.
  struct ByNumber {
    bool operator()(const std::string& a, const std::string& b) const {
      return a.size() != b.size() ? a.size() < b.size() : a < b;
    }
  };

  fs::path folder_;
  QueueLimits limits_;
  // Whoever writes or removes files of jobs has the first, and takes the second only for moments: who asks
  // what there is never waits for the disk.
  std::mutex disk_;
  mutable std::mutex mutex_;
  std::condition_variable changed_;
  std::map<std::string, Job, ByNumber> jobs_;
  std::set<std::string> cancelled_;
  std::map<std::string, std::thread> lanes_;
  uint64_t next_id_ = 1;
  bool started_ = false, ending_ = false;
};

}  // namespace mdsm::serve

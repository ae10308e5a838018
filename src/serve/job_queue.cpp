#include "serve/job_queue.h"

#include <sys/wait.h>

#include <algorithm>
#include <chrono>

#include "core/error.h"
#include "core/json.h"
#include "core/log.h"
#include "core/memory.h"
#include "core/start_process.h"
#include "serve/job_kinds.h"
#include "serve/job_process.h"
#include "serve/names.h"

namespace mdsm::serve {
namespace {

constexpr std::chrono::milliseconds kLookAtProcess{50};  // at a process
constexpr std::chrono::seconds kToEnd{10}, kToSave{60};
constexpr int kOutliersFound = 3;  // exit code of mdsm score

double now() {
  return std::chrono::duration<double>(std::chrono::system_clock::now().time_since_epoch()).count();
}

bool is_good(const Job& job, int status) {
  return WIFEXITED(status) &&
         (WEXITSTATUS(status) == 0 || (job.command == "score" && WEXITSTATUS(status) == kOutliersFound));
}

void remove_folder(const fs::path& folder) {
  std::error_code ignored;
  fs::remove_all(folder, ignored);
}

// The program's own line, without its beginning, or how the process ended.
std::string problem(const fs::path& folder, int status) {
  const std::string start = "mdsm: error: ", line = last_line_of(folder / "errors.txt");
  return line.starts_with(start) ? line.substr(start.size()) : ending_text(status);
}

}  // namespace

JobQueue::JobQueue(fs::path folder, const QueueLimits& limits) : folder_(std::move(folder)), limits_(limits) {
  make_folder(folder_);
  load();
}

void JobQueue::ask_to_end() {
  const std::lock_guard lock(mutex_);
  ending_ = true;
  changed_.notify_all();
}

JobQueue::~JobQueue() {
  ask_to_end();
  for (auto& [lane, thread] : lanes_) thread.join();
}

// What was at work or waiting when a server ended is to be done. A folder without a job was never told of,
// and goes.
void JobQueue::load() {
  for (const auto& entry : fs::directory_iterator(folder_)) {
    const std::string id = entry.path().filename().string();
    if (!is_plain_name(id) || id.find_first_not_of("0123456789") != std::string::npos || id.size() > 12)
      continue;
    next_id_ = std::max<uint64_t>(next_id_, std::stoull(id) + 1);
    const fs::path file = entry.path() / "job.json";
    std::error_code error;
    try {
      if (!fs::exists(file, error)) {
        if (!error && entry.is_directory(error)) remove_folder(entry.path());
        continue;
      }
      Job job = job_from_json(read_text(file), file.string());
      if (job.id != id) fail("remove the folder", "{}: of another job", file.string());
      job.again = job.again || job.state == JobState::running;
      if (job.state == JobState::running) job.state = JobState::queued;
      jobs_[id] = job;
    } catch (const Error& error_of_file) {
      log_warning("{}", error_of_file.what());
    }
  }
}

void JobQueue::start() {
  const std::lock_guard lock(mutex_);
  started_ = true;
  for (const auto& [id, job] : jobs_)
    if (!job.over()) ensure_lane(job.lane);
}

void JobQueue::ensure_lane(const std::string& lane) {
  if (started_ && !lanes_.contains(lane)) lanes_.emplace(lane, [this, lane] { work(lane); });
}

void JobQueue::keep(const Job& job) const {
  write_file(folder_of(job.id) / "job.json", json_text(to_json(job), 1) + "\n");
}

bool JobQueue::full() const {
  const auto waits = [](const auto& one) { return one.second.state == JobState::queued; };
  return std::ranges::count_if(jobs_, waits) >= static_cast<int64_t>(limits_.waiting);
}

// Those whose folders are to go.
std::vector<std::string> JobQueue::forget_oldest() {
  std::vector<std::string> over;
  for (const auto& [id, job] : jobs_)
    if (job.over()) over.push_back(id);
  over.resize(over.size() - std::min(over.size(), limits_.kept));
  for (const std::string& id : over) jobs_.erase(id);
  return over;
}

std::optional<Job> JobQueue::add(const std::function<Job(const fs::path&)>& make) {
  std::string id;
  {
    const std::lock_guard lock(mutex_);
    if (full()) return std::nullopt;
    id = fmt::format("{:06}", next_id_++);
  }
  const fs::path folder = folder_of(id);
  make_folder(folder);
  try {
    Job job = make(folder);
    job.created = now();
    const std::lock_guard disk(disk_);
    keep(job);
    std::unique_lock lock(mutex_);
    if (full()) {
      lock.unlock();
      remove_folder(folder);
      return std::nullopt;
    }
    ensure_lane(job.lane);
    jobs_[id] = job;
    changed_.notify_all();
    const std::vector<std::string> forgotten = forget_oldest();
    lock.unlock();
    for (const std::string& old : forgotten) remove_folder(folder_of(old));
    return job;
  } catch (...) {
    remove_folder(folder);
    throw;
  }
}

std::optional<Job> JobQueue::find(const std::string& id) const {
  const std::lock_guard lock(mutex_);
  const auto found = jobs_.find(id);
  return found == jobs_.end() ? std::nullopt : std::optional(found->second);
}

std::vector<Job> JobQueue::all() const {
  const std::lock_guard lock(mutex_);
  std::vector<Job> found;
  for (auto one = jobs_.rbegin(); one != jobs_.rend(); ++one) found.push_back(one->second);
  return found;
}

bool JobQueue::cancel(const std::string& id) {
  const std::lock_guard disk(disk_);
  std::unique_lock lock(mutex_);
  const auto found = jobs_.find(id);
  if (found == jobs_.end() || found->second.over()) return false;
  if (found->second.state == JobState::running) {
    cancelled_.insert(id);
    changed_.notify_all();
    return true;
  }
  found->second.state = JobState::cancelled;
  found->second.ended = now();
  const Job job = found->second;
  lock.unlock();
  keep(job);
  return true;
}

bool JobQueue::remove(const std::string& id) {
  const std::lock_guard disk(disk_);
  {
    const std::lock_guard lock(mutex_);
    const auto found = jobs_.find(id);
    if (found == jobs_.end() || !found->second.over()) return false;
    jobs_.erase(found);
  }
  remove_folder(folder_of(id));
  return true;
}

std::optional<Job> JobQueue::next(const std::string& lane) {
  std::unique_lock lock(mutex_);
  const auto waits = [&](const auto& one) {
    return one.second.lane == lane && one.second.state == JobState::queued;
  };
  auto found = jobs_.end();
  changed_.wait(lock, [&] { return ending_ || (found = std::ranges::find_if(jobs_, waits)) != jobs_.end(); });
  if (ending_) return std::nullopt;
  Job& job = found->second;
  job.state = JobState::running;
  job.started = now();
  return job;
}

// One that is over is told of when it is on the disk.
void JobQueue::update(const Job& job) {
  std::unique_lock disk(disk_, std::defer_lock);
  if (job.over()) disk.lock(), keep(job);
  const std::lock_guard lock(mutex_);
  if (job.over()) cancelled_.erase(job.id);
  jobs_[job.id] = job;
}

void JobQueue::work(const std::string& lane) {
  while (std::optional<Job> job = next(lane)) {
    try {
      run(*job);
    } catch (const std::exception& error) {  // a full disk must not take the server along
      job->state = JobState::failed, job->error = error.what(), job->ended = now();
      const std::lock_guard lock(mutex_);
      cancelled_.erase(job->id);
      jobs_[job->id] = *job;
    }
  }
}

void JobQueue::run(Job job) {
  const fs::path folder = folder_of(job.id);
  const bool trains = job.lane == "train";
  {
    const std::lock_guard disk(disk_);
    keep(job);
  }
  JobProcess process(job.again ? words_again(job, folder) : job.words, folder,
                     limits_.memory > 0 ? limits_.memory : available_memory());
  bool cancelled = false, late = false, ending = false;
  std::optional<int> status;
  while (!(status = process.ended())) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait_for(lock, kLookAtProcess);
      cancelled = cancelled_.contains(job.id), ending = ending_;
    }
    late = late || (!trains && now() - job.started > limits_.seconds);
    if (cancelled || late || ending) process.ask_to_end(trains ? kToSave : kToEnd);
    if (std::string line = last_line_of(folder / "errors.txt"); line != job.progress) {
      job.progress = std::move(line);
      update(job);
    }
  }
  const bool good = is_good(job, *status);
  if (ending && !cancelled && !(good && !trains)) return;  // it is kept as running, for the next server
  job.ended = now();
  job.progress.clear();
  job.state = cancelled ? JobState::cancelled : good ? JobState::done : JobState::failed;
  if (job.state == JobState::failed)
    job.error = late ? fmt::format("stopped: it took more than {:.0f} seconds", limits_.seconds)
                     : problem(folder, *status);
  update(job);
}

}  // namespace mdsm::serve

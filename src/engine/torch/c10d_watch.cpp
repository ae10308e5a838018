#include "engine/torch/c10d_watch.h"

#include <c10/util/Exception.h>

#include <condition_variable>
#include <mutex>

#include "core/error.h"

namespace mdsm::engine {
namespace {

constexpr const char *kNote = "note", *kRead = "note_read";

std::string text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// Many ranks, one store.
std::chrono::milliseconds pause(int size) { return std::chrono::milliseconds(std::max(500, 10 * size)); }

// A look takes no longer while the store answers: each question of its own has peer_seconds.
constexpr double kMoreSeconds = 1;
constexpr std::chrono::seconds kTimeToEnd{2};

std::string no_answer(const distributed::Launch& launch) {
  return fmt::format("{} at {}:{} does not answer any more",
                     launch.store_is_there ? "the launcher" : "rank 0", launch.host, launch.port);
}

}  // namespace

void leave_note(c10d::Store& store, const std::string& note) {
  store.compareSet(kNote, {}, bytes(note.empty() ? "no reason given" : note));
}

std::string sign_of_life(int rank) { return fmt::format("alive/{}", rank); }

// Its thread keeps it alive.
struct Watch::Looker {
  Store store;
  distributed::Launch launch;
  int64_t beat = 0;
  std::vector<uint8_t> seen;  // the neighbour's last sign of life, and when it came
  std::chrono::steady_clock::time_point seen_at = std::chrono::steady_clock::now();

  std::mutex mutex;
  std::condition_variable changed;
  bool asked = false, stop = false, ended = false;
  std::string found;  // by the last look

  void run() {
    std::unique_lock lock(mutex);
    for (;;) {
      changed.wait(lock, [this] { return asked || stop; });
      if (stop) break;
      lock.unlock();
      std::string text = look();
      lock.lock();
      found = std::move(text);
      asked = false;
      changed.notify_all();
    }
    store.reset();
    ended = true;
    changed.notify_all();
  }
  std::string look();
  std::string look_at_neighbour();
};

Watch::Watch(Store store, const distributed::Launch& launch, std::function<void()> on_end)
    : looker_(std::make_shared<Looker>()), launch_(launch), on_end_(std::move(on_end)) {
  looker_->store = std::move(store);
  looker_->launch = launch;
  std::thread([looker = looker_] { looker->run(); }).detach();
  thread_ = std::thread([this] { run(); });
}

Watch::~Watch() { stop(); }

void Watch::stop() {
  std::unique_lock lock(looker_->mutex);
  looker_->stop = true;
  looker_->changed.notify_all();
  lock.unlock();
  if (thread_.joinable()) thread_.join();
  lock.lock();
  looker_->changed.wait_for(lock, kTimeToEnd, [this] { return looker_->ended; });
}

std::string Watch::reason(std::chrono::milliseconds wait) {
  std::unique_lock lock(looker_->mutex);
  looker_->changed.wait_for(lock, wait, [this] { return !reason_.empty() || looker_->stop; });
  return reason_;
}

void Watch::run() {
  const std::chrono::duration<double> limit(launch_.peer_seconds + kMoreSeconds);
  std::unique_lock lock(looker_->mutex);
  while (reason_.empty()) {
    looker_->asked = true;
    looker_->changed.notify_all();
    const bool answered =
        looker_->changed.wait_for(lock, limit, [this] { return !looker_->asked || looker_->stop; });
    if (looker_->stop) return;
    reason_ = answered ? looker_->found : no_answer(launch_);
    if (reason_.empty())
      looker_->changed.wait_for(lock, pause(launch_.size), [this] { return looker_->stop; });
    if (looker_->stop) return;
  }
  looker_->changed.notify_all();
  lock.unlock();
  on_end_();
}

// An empty text while all is well.
std::string Watch::Looker::look() {
  try {
    store->set(sign_of_life(launch.rank), bytes(std::to_string(++beat)));
    const std::string late = look_at_neighbour();
    if (!late.empty()) leave_note(*store, late);
    if (!store->check({kNote})) return "";
    const std::string note = text(store->get(kNote));
    store->add(kRead, 1);
    return note;
  } catch (const std::exception&) {
    return no_answer(launch);
  }
}

// Asked for first of all that waits for an answer: get() sets how long.
std::string Watch::Looker::look_at_neighbour() {
  const int next = (launch.rank + 1) % launch.size;
  std::vector<uint8_t> now = store->get(sign_of_life(next));
  const auto time = std::chrono::steady_clock::now();
  if (now != seen) {
    seen = std::move(now);
    seen_at = time;
  }
  const double silent = std::chrono::duration<double>(time - seen_at).count();
  return silent < launch.peer_seconds
             ? ""
             : fmt::format(
                   "rank {} has shown no sign of life for {:.0f} s: stopped, or its host cannot be reached",
                   next, silent);
}

}  // namespace mdsm::engine

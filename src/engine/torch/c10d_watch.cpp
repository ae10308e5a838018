#include "engine/torch/c10d_watch.h"

#include <c10/util/Exception.h>

#include "core/error.h"

namespace mdsm::engine {
namespace {

constexpr const char *kNote = "note", *kRead = "note_read";

std::string text(const std::vector<uint8_t>& bytes) { return {bytes.begin(), bytes.end()}; }

// Many ranks, one store.
std::chrono::milliseconds pause(int size) { return std::chrono::milliseconds(std::max(500, 10 * size)); }

}  // namespace

void leave_note(c10d::Store& store, const std::string& note) {
  store.compareSet(kNote, {}, bytes(note.empty() ? "no reason given" : note));
}

std::string sign_of_life(int rank) { return fmt::format("alive/{}", rank); }

Watch::Watch(Store store, const distributed::Launch& launch, std::function<void()> on_end)
    : store_(std::move(store)),
      launch_(launch),
      on_end_(std::move(on_end)),
      seen_at_(std::chrono::steady_clock::now()),
      thread_([this] { run(); }) {}

Watch::~Watch() { stop(); }

void Watch::stop() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::string Watch::reason(std::chrono::milliseconds wait) {
  std::unique_lock lock(mutex_);
  changed_.wait_for(lock, wait, [this] { return !reason_.empty() || stop_; });
  return reason_;
}

void Watch::run() {
  for (;;) {
    std::string found = look();
    std::unique_lock lock(mutex_);
    reason_ = std::move(found);
    if (!reason_.empty()) break;
    changed_.wait_for(lock, pause(launch_.size), [this] { return stop_; });
    if (stop_) return;
  }
  changed_.notify_all();
  on_end_();
}

// An empty text while all is well.
std::string Watch::look() {
  try {
    store_->set(sign_of_life(launch_.rank), bytes(std::to_string(++beat_)));
    const std::string late = look_at_neighbour();
    if (!late.empty()) leave_note(*store_, late);
    if (!store_->check({kNote})) return "";
    const std::string note = text(store_->get(kNote));
    store_->add(kRead, 1);
    return note;
  } catch (const std::exception&) {
    return launch_.store_is_there
               ? fmt::format("the launcher at {}:{} does not answer any more", launch_.host, launch_.port)
               : fmt::format("rank 0 at {}:{} does not answer any more", launch_.host, launch_.port);
  }
}

// Asked for first of all that waits for an answer: get() sets how long.
std::string Watch::look_at_neighbour() {
  const int next = (launch_.rank + 1) % launch_.size;
  std::vector<uint8_t> now = store_->get(sign_of_life(next));
  const auto time = std::chrono::steady_clock::now();
  if (now != seen_) {
    seen_ = std::move(now);
    seen_at_ = time;
  }
  const double silent = std::chrono::duration<double>(time - seen_at_).count();
  return silent < launch_.peer_seconds
             ? ""
             : fmt::format(
                   "rank {} has shown no sign of life for {:.0f} s: stopped, or its host cannot be reached",
                   next, silent);
}

}  // namespace mdsm::engine

// A loop is cut into ranges, these into a share for each thread that may take part. A thread takes the ranges
// of its own share first, so that from loop to loop it finds its values in its cache, and then what is left
// of the others'. Nobody waits for a thread that is not inside the loop.
#include "core/threads.h"

#ifdef __linux__
#include <sched.h>
#endif
#include <unistd.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <chrono>
#include <cstdlib>
#include <exception>
#include <mutex>
#include <system_error>
#include <thread>
#include <vector>

namespace mdsm {
namespace {

// How long a thread looks for work, or for the end of a loop, before it sleeps: longer than the way from one
// loop to the next, much shorter than what the system gives a process at a time.
constexpr auto kSpin = std::chrono::microseconds(40);
constexpr size_t kLoops = 16;  // with helpers at the same time; further ones run on their callers alone

using Body = std::function<void(int64_t, int64_t)>;

void pause_briefly() {
#if defined(__x86_64__) || defined(__i386__)
  __builtin_ia32_pause();
#elif defined(__aarch64__)
  asm volatile("yield");
#endif
}

// Whether done() came true in time.
template <class Done>
bool spin_until(const Done& done) {
  const auto start = std::chrono::steady_clock::now();
  do {
    for (int i = 0; i < 16; ++i) {
      if (done()) return true;
      pause_briefly();
    }
  } while (std::chrono::steady_clock::now() - start < kSpin);
  return done();
}

// The exception of the first range that threw.
class FirstError {
 public:
  void add(int64_t range, std::exception_ptr error) {
    const std::lock_guard lock(mutex_);
    if (error_ && range_ < range) return;
    range_ = range;
    error_ = std::move(error);
  }
  void rethrow() const {
    if (error_) std::rethrow_exception(error_);
  }

 private:
  std::mutex mutex_;
  int64_t range_ = 0;
  std::exception_ptr error_;
};

struct Split {
  int64_t count, ranges;
  void run(const Body& body, int64_t range) const {
    body(count * range / ranges, count * (range + 1) / ranges);
  }
};

struct alignas(64) Share {
  std::atomic<int64_t> next = 0;
  int64_t end = 0;
};

// A loop that threads can help with. These live as long as the program: a thread that comes late finds a
// closed one.
class alignas(64) Loop {
 public:
  bool claim() {
    int free = 0;
    return state_.compare_exchange_strong(free, kClaimed, std::memory_order_acquire);
  }
  void release() { state_.store(0, std::memory_order_release); }

  void open(const Split& split, const Body& body, FirstError& error, int64_t threads) {
    split_ = split;
    body_ = &body;
    error_ = &error;
    shares_ = threads;
    for (int64_t i = 0; i < threads; ++i) {
      Share& share = share_[static_cast<size_t>(i)];
      share.next.store(split.ranges * i / threads, std::memory_order_relaxed);
      share.end = split.ranges * (i + 1) / threads;
    }
    state_.store(kClaimed | kOpen | static_cast<int>(threads - 1) << kMostShift, std::memory_order_release);
  }

  // No thread comes in any more; waits for those that are inside.
  void close() {
    int state = state_.fetch_and(~kOpen, std::memory_order_acq_rel) & ~kOpen;
    const auto empty = [&] { return ((state = state_.load(std::memory_order_acquire)) & kInside) == 0; };
    if (empty() || spin_until(empty)) return;
    while (!empty()) state_.wait(state, std::memory_order_acquire);
  }

  bool enter() {
    int state = state_.load(std::memory_order_relaxed);
    while ((state & kOpen) && (state & kInside) < state >> kMostShift)
      if (state_.compare_exchange_weak(state, state + 1, std::memory_order_acquire,
                                       std::memory_order_relaxed))
        return true;
    return false;
  }
  void leave() {
    const int before = state_.fetch_sub(1, std::memory_order_acq_rel);
    if (!(before & kOpen) && (before & kInside) == 1) state_.notify_all();
  }

  // helper: its number from 0; the caller is -1.
  void help(int64_t helper) {
    const int64_t own = helper < 0 ? 0 : 1 + helper % (shares_ - 1);
    for (int64_t i = 0; i < shares_; ++i) {
      Share& share = share_[static_cast<size_t>((own + i) % shares_)];
      while (true) {
        const int64_t range = share.next.fetch_add(1, std::memory_order_relaxed);
        if (range >= share.end) break;
        run(range);
      }
    }
  }

 private:
  // state_: whose it is, whether threads may come in, how many may, how many are inside.
  static constexpr int kInside = 0xff, kMostShift = 16, kClaimed = 0x100, kOpen = 0x200;

  void run(int64_t range) {
    try {
      split_.run(*body_, range);
    } catch (...) {
      error_->add(range, std::current_exception());
    }
  }

  std::atomic<int> state_ = 0;
  Split split_{};
  const Body* body_ = nullptr;
  FirstError* error_ = nullptr;
  int64_t shares_ = 0;
  std::array<Share, kMostRanges> share_;
};

std::atomic<int> g_threads = 0;            // 0: all
std::array<Loop, kLoops> g_loops;          // never destroyed before the threads end
std::atomic<int> g_opened = 0;             // changes with every loop: what threads watch
std::atomic<int> g_asleep = 0;             // threads that must be woken
std::atomic<bool> g_program_ends = false;  // the program ends
thread_local bool t_in_loop = false;

void work(int64_t number) {
  t_in_loop = true;
  while (true) {
    const int seen = g_opened;
    if (g_program_ends) return;
    for (Loop& loop : g_loops)
      if (loop.enter()) {
        loop.help(number);
        loop.leave();
      }
    if (spin_until([&] { return g_opened != seen; })) continue;
    ++g_asleep;
    g_opened.wait(seen);
    --g_asleep;
  }
}

// The threads themselves. In a child of fork() there are none, and nothing to wait for.
class Workers {
 public:
  ~Workers() {
    const bool mine = owner_ == getpid();
    if (mine) {
      g_program_ends = true;
      ++g_opened;
      g_opened.notify_all();
    }
    for (std::thread& thread : threads_)
      mine&& thread.get_id() != std::this_thread::get_id() ? thread.join() : thread.detach();
  }

  void at_least(int64_t wanted) {
    if (started_ >= wanted) return;
    const std::lock_guard lock(mutex_);
    if (g_program_ends || (owner_ != 0 && owner_ != getpid())) return;
    owner_ = getpid();
    try {
      while (started_ < wanted) {
        threads_.emplace_back(work, started_.load());
        ++started_;
      }
    } catch (const std::system_error&) {  // no more to be had: loops run on those there are
      started_ = wanted;
    }
  }

 private:
  std::mutex mutex_;
  std::atomic<int64_t> started_ = 0;
  pid_t owner_ = 0;
  std::vector<std::thread> threads_;
};
Workers g_workers;

void wake(int64_t helpers) {
  ++g_opened;
  for (int64_t i = std::min<int64_t>(g_asleep, helpers); i > 0; --i) g_opened.notify_one();
}

class InLoop {
 public:
  InLoop() { t_in_loop = true; }
  ~InLoop() { t_in_loop = false; }
  InLoop(const InLoop&) = delete;
  InLoop& operator=(const InLoop&) = delete;
};

// False where no loop can be opened: too many are.
bool run_together(const Split& split, const Body& body, FirstError& error, int64_t threads) {
  const auto loop = std::ranges::find_if(g_loops, &Loop::claim);
  if (loop == g_loops.end()) return false;
  g_workers.at_least(threads - 1);
  const InLoop inside;
  loop->open(split, body, error, threads);
  wake(threads - 1);
  loop->help(-1);
  loop->close();
  loop->release();
  return true;
}

void run_alone(const Split& split, const Body& body, FirstError& error) {
  for (int64_t range = 0; range < split.ranges; ++range) try {
      split.run(body, range);
    } catch (...) {
      error.add(range, std::current_exception());
    }
}

int allowed_threads() {
  if (const char* text = std::getenv("OMP_NUM_THREADS"))
    if (const long wanted = std::strtol(text, nullptr, 10); wanted > 0)
      return static_cast<int>(std::min<long>(wanted, 1 << 12));
#ifdef __linux__
  cpu_set_t mask;
  if (sched_getaffinity(0, sizeof mask, &mask) == 0) return std::max(1, CPU_COUNT(&mask));
#endif
  return static_cast<int>(std::max(1u, std::thread::hardware_concurrency()));
}

}  // namespace

int hardware_threads() {
  static const int allowed = allowed_threads();
  return allowed;
}

int thread_count() {
  const int threads = g_threads;
  return threads > 0 ? threads : hardware_threads();
}

void set_thread_count(int threads) { g_threads = threads; }

void parallel_for(int64_t count, int64_t grain, const Body& body) {
  if (count <= 0) return;
  const Split split{count, std::clamp<int64_t>(count / std::max<int64_t>(grain, 1), 1, kMostRanges)};
  if (split.ranges == 1) return body(0, count);
  const int64_t threads = t_in_loop ? 1 : std::min<int64_t>(thread_count(), split.ranges);
  FirstError error;
  if (threads == 1 || !run_together(split, body, error, threads)) run_alone(split, body, error);
  error.rethrow();
}

}  // namespace mdsm

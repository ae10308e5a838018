#include "distributed/thread_world.h"

#include <algorithm>
#include <condition_variable>
#include <deque>
#include <exception>
#include <map>
#include <mutex>
#include <thread>
#include <tuple>

#include "core/error.h"

namespace mdsm::distributed {
namespace {

struct Table {
  std::mutex mutex;
  std::condition_variable changed;
  std::map<std::tuple<int, int, int>, std::deque<std::vector<std::byte>>> messages;  // of (from, to, channel)
  std::string given_up;                                                              // why, once a rank has
};

class Waiting : public Exchange {
 public:
  Waiting(Table& table, int rank, std::span<const Receive> receives, int channel)
      : table_(table), rank_(rank), channel_(channel), receives_(receives.begin(), receives.end()) {}

  void wait() override {
    for (const Receive& receive : receives_) {
      std::unique_lock lock(table_.mutex);
      auto& queue = table_.messages[{receive.peer, rank_, channel_}];
      table_.changed.wait(lock, [&] { return !queue.empty() || !table_.given_up.empty(); });
      if (queue.empty()) fail("look at what it says itself", "{}", table_.given_up);
      if (queue.front().size() != receive.bytes.size())
        fail("this is a bug", "rank {} sent {} bytes, rank {} waits for {}", receive.peer,
             queue.front().size(), rank_, receive.bytes.size());
      std::ranges::copy(queue.front(), receive.bytes.begin());
      queue.pop_front();
    }
  }

 private:
  Table& table_;
  int rank_, channel_;
  std::vector<Receive> receives_;
};

class ThreadCommunicator : public Communicator {
 public:
  ThreadCommunicator(Table& table, int rank, int size) : Communicator(rank, size), table_(table) {}

  void abort(const std::string& reason) noexcept override {
    const std::lock_guard lock(table_.mutex);
    if (table_.given_up.empty()) table_.given_up = fmt::format("rank {} failed: {}", rank(), reason);
    table_.changed.notify_all();
  }

 private:
  std::unique_ptr<Exchange> start_impl(std::span<const Send> sends, std::span<const Receive> receives,
                                       int channel) override {
    const std::lock_guard lock(table_.mutex);
    for (const Send& send : sends)
      table_.messages[{rank(), send.peer, channel}].emplace_back(send.bytes.begin(), send.bytes.end());
    table_.changed.notify_all();
    return std::make_unique<Waiting>(table_, rank(), receives, channel);
  }

  Table& table_;
};

}  // namespace

void run_ranks(int size, const std::function<void(Communicator&)>& body) {
  Table table;
  std::exception_ptr thrown;
  std::vector<std::thread> threads;
  const auto run = [&](int rank) {
    ThreadCommunicator communicator(table, rank, size);
    try {
      body(communicator);
    } catch (const std::exception& error) {
      {
        const std::lock_guard lock(table.mutex);
        if (!thrown) thrown = std::current_exception();
      }
      communicator.abort(error.what());
    }
  };
  for (int rank = 0; rank < size; ++rank) threads.emplace_back(run, rank);
  for (std::thread& thread : threads) thread.join();
  if (thrown) std::rethrow_exception(thrown);
}

}  // namespace mdsm::distributed

// Ranks that are processes, on LibTorch's c10d: a TCPStore where they meet, Gloo between CPUs. Transfers are
// c10d's own sends and receives; what is added up, and in what order, is the caller's.
#include <c10/util/Logging.h>
#include <gloo/common/error.h>
#include <torch/csrc/distributed/c10d/PrefixStore.hpp>
#include <torch/csrc/distributed/c10d/ProcessGroupGloo.hpp>
#include <torch/csrc/distributed/c10d/TCPStore.hpp>

#include <unistd.h>

#include <atomic>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <mutex>
#include <thread>

#include "engine/torch/c10d_join.h"
#include "engine/torch/c10d_nccl.h"
#include "engine/torch/c10d_threads.h"
#include "engine/torch/c10d_watch.h"
#include "engine/torch/torch_guard.h"
#include "engine/torch_module.h"

namespace mdsm::engine {
namespace {

using distributed::Exchange;
using distributed::Launch;
using distributed::Receive;
using distributed::Send;
using Group = c10::intrusive_ptr<c10d::ProcessGroupGloo>;
using Work = c10::intrusive_ptr<c10d::Work>;

constexpr std::chrono::hours kForever(24 * 365);  // the watch says when waiting has become pointless
constexpr const char* kHint = "look at what that rank says itself; a run goes on from its last checkpoint";

at::Tensor tensor_of(std::span<const std::byte> bytes) {
  return torch::from_blob(const_cast<std::byte*>(bytes.data()), {static_cast<int64_t>(bytes.size())},
                          torch::kUInt8);
}

// Transfers that wait, so that the watch can end the waiting.
class Transfers {
 public:
  struct One {
    int peer;
    Work work;
  };
  void begin(const std::vector<One>& all) {
    const std::lock_guard lock(mutex_);
    waiting_ = all;
    if (over_) end_all();
  }
  void done() {
    const std::lock_guard lock(mutex_);
    waiting_.clear();
  }
  void end() {
    const std::lock_guard lock(mutex_);
    over_ = true;
    end_all();
  }

 private:
  void end_all() {
    for (const One& one : waiting_) one.work->abort();
  }
  std::mutex mutex_;
  std::vector<One> waiting_;
  bool over_ = false;
};

class C10dCommunicator : public distributed::Communicator {
 public:
  C10dCommunicator(const Launch& launch, const std::string& version)
      : Communicator(launch.rank, launch.size),
        launch_(launch),
        store_(join(launch, version)),
        group_(connect(launch, store_)),
        on_devices_(make_device_sum(launch, store_, *group_)),
        watch_(open_store(launch, false), launch, [this] { transfers_.end(); }) {}

  ~C10dCommunicator() override {
    if (!over_) leave();
    watch_.stop();
    if (over_) end_with_threads_at_work();
  }

  void abort(const std::string& reason) noexcept override {
    if (over_.exchange(true)) return;
    try {
      leave_note(*store_, fmt::format("rank {} failed: {}", rank(), reason));
      wait_for_readers(size());
    } catch (const std::exception&) {  // then they learn it from connections that close
    }
  }

  void reordered_sum(std::span<float> values) override {
    guarded([&] {
      std::vector<at::Tensor> tensors = {
          torch::from_blob(values.data(), {static_cast<int64_t>(values.size())}, torch::kFloat32)};
      try {
        if (on_devices_) return on_devices_->sum(values);
        group_->allreduce(tensors)->wait(kForever);
      } catch (const std::exception& error) {
        lost(-1, error.what());
      }
    });
  }

 private:
  class Pending : public Exchange {
   public:
    Pending(C10dCommunicator& of, std::vector<Transfers::One> works) : of_(of), works_(std::move(works)) {}
    void wait() override { of_.wait(works_); }

   private:
    C10dCommunicator& of_;
    std::vector<Transfers::One> works_;
  };

  std::unique_ptr<Exchange> start_impl(std::span<const Send> sends, std::span<const Receive> receives,
                                       int channel) override {
    if (over_) fail(kHint, "the job is over");
    std::vector<Transfers::One> works;
    int peer = -1;
    try {
      for (const Receive& receive : receives) {
        if (receive.bytes.empty()) continue;
        std::vector<at::Tensor> tensor = {tensor_of(receive.bytes)};
        works.push_back({peer = receive.peer, group_->recv(tensor, receive.peer, channel)});
      }
      for (const Send& send : sends) {
        if (send.bytes.empty()) continue;
        std::vector<at::Tensor> tensor = {tensor_of(send.bytes)};
        works.push_back({peer = send.peer, group_->send(tensor, send.peer, channel)});
      }
    } catch (const std::exception& error) {
      lost(peer, error.what());
    }
    return std::make_unique<Pending>(*this, std::move(works));
  }

  void wait(std::vector<Transfers::One>& works) {
    transfers_.begin(works);
    for (const Transfers::One& one : works) {
      bool arrived = false;
      std::string what;
      try {
        arrived = one.work->wait(kForever);
      } catch (const std::exception& error) {
        what = error.what();
      }
      if (arrived) continue;
      // The caller's memory goes away with the error: data of the other ranks must not come into it any more.
      const int peer = one.peer;
      transfers_.done();
      works.clear();
      lost(peer, what);
    }
    transfers_.done();
  }

  // Connections that are broken may wait for ever to be closed in order, and the process is about to end: the
  // group stays, and with it the threads of Gloo and of the store. What the libraries destroy when a process
  // ends is theirs still, so nothing is destroyed then.
  void end_with_threads_at_work() {
    (void)group_.release();
    ::on_exit(
        [](int status, void*) {
          std::fflush(nullptr);
          ::_exit(status);
        },
        nullptr);
  }

  // A closed connection is often that of a rank which has itself lost another one: its note says which.
  [[noreturn]] void lost(int peer, const std::string& what) {
    over_ = true;
    std::string reason = watch_.reason(kTimeForNotes);
    if (reason.empty()) {
      reason = peer < 0 ? fmt::format("a sum of all ranks failed: {}", what.substr(0, what.find('\n')))
                        : fmt::format("rank {} is gone: its connection was closed", peer);
      try {
        leave_note(*store_, reason);
      } catch (const std::exception&) {
      }
    }
    try {
      wait_for_readers(size() - 1);
    } catch (const std::exception&) {
    }
    fail(kHint, "{}", reason);
  }

  // Rank 0 takes the store with it, and with that the reason: not before so many have read it.
  void wait_for_readers(int count) {
    if (rank() == 0 && !launch_.store_is_there) wait_for_count("note_read", count);
  }

  // A connection that is closed takes with it what the other side has not read yet, and rank 0 the store:
  // everybody waits until all have come to the end, and rank 0 until they are gone.
  void leave() noexcept {
    try {
      barrier();
      store_->add("at_end", 1);
      wait_for_count("at_end", size());
      store_->add("left", 1);
      if (rank() == 0) wait_for_count("left", size());
    } catch (const std::exception&) {  // the work is done; who is gone already is gone
    }
  }

  void wait_for_count(const std::string& key, int64_t count) {
    const auto end = std::chrono::steady_clock::now() + kTimeForNotes * 2;
    while (store_->add(key, 0) < count && std::chrono::steady_clock::now() < end)
      std::this_thread::sleep_for(std::chrono::milliseconds(20));
  }

  static constexpr std::chrono::milliseconds kTimeForNotes{2000};

  Launch launch_;
  Store store_;
  Group group_;
  std::unique_ptr<DeviceSum> on_devices_;  // where all ranks have a GPU and LibTorch has NCCL
  Transfers transfers_;
  std::atomic<bool> over_ = false;
  Watch watch_;
};

}  // namespace

extern "C" __attribute__((visibility("default"))) distributed::Communicator* mdsm_join_processes(
    const Launch& launch, const std::string& version) {
  return guarded([&]() -> distributed::Communicator* {
    // Otherwise TORCH_CPP_LOG_LEVEL is read by Python's module alone, and warnings come out.
    c10::initLogging();
    report_errors_of_threads(launch.rank);
    return new C10dCommunicator(launch, version);
  });
}

}  // namespace mdsm::engine

// Several processes, ranks 0 .. size-1, that compute one result together: how they send each other bytes,
// agree, and end together. All of them make the same calls in the same order. What is here is built on two
// things that a backend has, start() and abort(): one process alone, threads of one process (thread_world.h,
// for tests), and LibTorch's c10d (engine/torch, opened when a launcher has started more than one process).
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mdsm::distributed {

struct Send {
  int peer;
  std::span<const std::byte> bytes;
};
struct Receive {
  int peer;
  std::span<std::byte> bytes;  // as many as the peer sends
};

// Transfers under way. The memory of both ends stays the caller's until wait() has returned.
class Exchange {
 public:
  virtual ~Exchange() = default;
  virtual void wait() = 0;
};

// Part of a vector: [first, first + count).
struct Part {
  size_t first = 0, count = 0;
};
// Nearly equal parts of `count`, one for each rank.
std::vector<Part> equal_parts(size_t count, int size);

class Communicator {
 public:
  virtual ~Communicator() = default;
  Communicator(const Communicator&) = delete;
  Communicator& operator=(const Communicator&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool alone() const { return size_ == 1; }
  bool first() const { return rank_ == 0; }  // owns files, log and terminal
  uint64_t bytes_sent() const { return bytes_sent_; }
  Part own_part(size_t count) const;  // of equal_parts()

  // Messages between two ranks arrive in the order in which they were started, on each channel (0, 1, ...) by
  // itself. An Error says which rank is gone, or why it gave up.
  std::unique_ptr<Exchange> start(std::span<const Send> sends, std::span<const Receive> receives,
                                  int channel = 0);
  void exchange(std::span<const Send> sends, std::span<const Receive> receives);

  void broadcast(std::span<std::byte> bytes);      // of rank 0
  std::string broadcast(const std::string& text);  // of rank 0
  // Every rank has its part, then all have all.
  void gather(std::span<float> values, std::span<const Part> parts);
  void gather(std::span<double> values, std::span<const Part> parts);
  std::vector<std::string> gather(const std::string& own);  // of all ranks, on all
  std::vector<std::string> gather_first(
      const std::string& own);  // of all ranks, on rank 0; nothing on others
  bool any(bool own);
  void barrier() { any(false); }
  // The sum, in whatever order the backend finds fastest: other bits for other numbers of processes.
  virtual void reordered_sum(std::span<float> values);

  // Tells the others that this rank gives up: what they wait for becomes an Error with this reason.
  virtual void abort(const std::string& reason) noexcept = 0;

 protected:
  Communicator(int rank, int size) : rank_(rank), size_(size) {}

 private:
  virtual std::unique_ptr<Exchange> start_impl(std::span<const Send> sends, std::span<const Receive> receives,
                                               int channel) = 0;
  template <class Body>
  void with_others(const Body& body) const;
  void gather_bytes(std::span<std::byte> values, std::span<const Part> parts, size_t each);

  int rank_, size_;
  uint64_t bytes_sent_ = 0;
};

// One process, which has nobody to talk to.
Communicator& alone();

}  // namespace mdsm::distributed

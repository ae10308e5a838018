// The sum of a gradient over processes, in the tree of shards.h, whose lower part each of them has computed:
// every rank gets one slice of all subtrees, adds it up in the order of the tree, and hands the result to the
// others. For ranks that have one subtree each (2, 4, 8, ... of them) this is as much traffic as a ring's:
// every value goes out and comes back once. A rank with k subtrees sends k times as much on the way out.
//
// A vector goes in pieces (buckets), in the same order on all ranks. A thread takes care of them while the
// caller computes the next one.
#pragma once

#include <condition_variable>
#include <deque>
#include <exception>
#include <memory>
#include <mutex>
#include <thread>

#include "distributed/communicator.h"
#include "train/shards.h"

namespace mdsm::train {

class RankSum {
 public:
  RankSum(distributed::Communicator& world, int64_t shards);
  ~RankSum();
  RankSum(const RankSum&) = delete;
  RankSum& operator=(const RankSum&) = delete;

  // Before the first piece: `own` has its nodes, if not yet all values. result: as long as the vectors. Until
  // finish() nobody else talks to the other ranks.
  void begin(const TreeSum& own, std::span<float> result);
  // The values of this piece are there; they and the memory of `own` stay until finish().
  void send(distributed::Part bucket);
  // Waits for all pieces; afterwards all ranks have the same bits.
  void finish();

  // For the result, from step to step: the system's cleared pages cost more than the sum.
  std::span<float> room(size_t values);

  int64_t calls_of_last_shard = -1;          // of the engine; -1: not known yet (for_shards)
  double waited() const { return waited_; }  // seconds in finish(), all together

 private:
  struct Bucket {
    std::vector<distributed::Part> slices;  // one for each rank
    std::vector<std::vector<float>>
        received;  // this rank's slice of the others' subtrees, in the tree's order
    std::unique_ptr<distributed::Exchange> out, back;
  };
  void work();
  void work_on_buckets();
  void start(Bucket& bucket, distributed::Part part);
  void add_slice(const Bucket& bucket);
  void hand_on(Bucket& bucket);

  distributed::Communicator& world_;
  std::vector<std::vector<ImageRange>> subtrees_;  // of every rank
  const TreeSum* own_ = nullptr;
  std::span<float> result_;
  std::vector<float> room_;
  std::deque<Bucket> memory_;  // of buckets, from step to step
  TreeSum slice_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<distributed::Part> queue_;
  bool working_ = false, last_sent_ = false, stop_ = false;
  std::exception_ptr error_;
  double waited_ = 0;
  std::thread thread_;
};

}  // namespace mdsm::train

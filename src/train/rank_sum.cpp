#include "train/rank_sum.h"

#include <chrono>

#include "core/error.h"

namespace mdsm::train {
namespace {

using distributed::Receive;
using distributed::Send;

enum Channel { kOut = 1, kBack = 2 };

}  // namespace

RankSum::RankSum(distributed::Communicator& world, int64_t shards) : world_(world) {
  for (int rank = 0; rank < world.size(); ++rank)
    subtrees_.push_back(subtrees(shards_of_process(shards, world.size(), rank)));
  if (!world.alone()) thread_ = std::thread([this] { work(); });
}

RankSum::~RankSum() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  if (thread_.joinable()) thread_.join();
}

std::span<float> RankSum::room(size_t values) {
  room_.resize(values);
  return room_;
}

void RankSum::begin(const TreeSum& own, std::span<float> result) {
  const auto rank = static_cast<size_t>(world_.rank());
  if (own.nodes().size() != subtrees_[rank].size())
    fail("this is a bug", "{} subtrees of rank {}, not {}", own.nodes().size(), rank, subtrees_[rank].size());
  const std::lock_guard lock(mutex_);
  own_ = &own;
  result_ = result;
  working_ = true;
  last_sent_ = false;
  changed_.notify_all();
}

void RankSum::send(distributed::Part bucket) {
  const std::lock_guard lock(mutex_);
  queue_.push_back(bucket);
  changed_.notify_all();
}

void RankSum::finish() {
  const auto begin = std::chrono::steady_clock::now();
  std::unique_lock lock(mutex_);
  last_sent_ = true;
  changed_.notify_all();
  changed_.wait(lock, [this] { return !working_; });
  waited_ += std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
  if (error_) std::rethrow_exception(std::exchange(error_, nullptr));
}

void RankSum::work() {
  for (;;) {
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return working_ || stop_; });
      if (stop_) return;
    }
    std::exception_ptr error;
    try {
      work_on_buckets();
    } catch (...) {
      error = std::current_exception();
    }
    std::unique_lock lock(mutex_);
    if (error)
      changed_.wait(lock, [this] { return last_sent_ || stop_; });  // the caller learns it at the end
    queue_.clear();
    error_ = error;
    working_ = false;
    changed_.notify_all();
  }
}

// Starts what there is, and while there is nothing more to start, adds up the oldest.
void RankSum::work_on_buckets() {
  size_t started = 0, added = 0;
  for (;;) {
    distributed::Part part;
    bool more = false;
    {
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [&] { return !queue_.empty() || last_sent_ || stop_ || added < started; });
      if (stop_) return;
      if (!queue_.empty()) {
        part = queue_.front();
        queue_.pop_front();
        more = true;
      } else if (added == started) {
        break;
      }
    }
    if (more) {
      if (started == memory_.size()) memory_.emplace_back();
      start(memory_[started++], part);
    } else {
      Bucket& bucket = memory_[added++];
      bucket.out->wait();
      add_slice(bucket);
      hand_on(bucket);
    }
  }
  for (size_t k = 0; k < started; ++k) memory_[k].back->wait();
}

void RankSum::start(Bucket& bucket, distributed::Part part) {
  const auto rank = static_cast<size_t>(world_.rank());
  bucket.slices = distributed::equal_parts(part.count, world_.size());
  for (distributed::Part& slice : bucket.slices) slice.first += part.first;
  std::vector<Send> sends;
  std::vector<Receive> receives;
  size_t next = 0;
  for (int peer = 0; peer < world_.size(); ++peer) {
    if (peer == world_.rank()) continue;
    const distributed::Part theirs = bucket.slices[static_cast<size_t>(peer)];
    for (const TreeSum::Node& node : own_->nodes())
      sends.push_back({peer, std::as_bytes(std::span(node.values).subspan(theirs.first, theirs.count))});
    for (size_t k = 0; k < subtrees_[static_cast<size_t>(peer)].size(); ++k, ++next) {
      if (next == bucket.received.size()) bucket.received.emplace_back();
      bucket.received[next].resize(bucket.slices[rank].count);
      receives.push_back({peer, std::as_writable_bytes(std::span(bucket.received[next]))});
    }
  }
  bucket.out = world_.start(sends, receives, kOut);
}

// The slice of every subtree, first shard first.
void RankSum::add_slice(const Bucket& bucket) {
  const distributed::Part slice = bucket.slices[static_cast<size_t>(world_.rank())];
  slice_.clear();
  size_t next = 0;
  for (size_t rank = 0; rank < subtrees_.size(); ++rank)
    for (size_t k = 0; k < subtrees_[rank].size(); ++k) {
      const bool mine = rank == static_cast<size_t>(world_.rank());
      const std::span<const float> values =
          mine ? std::span(own_->nodes()[k].values).subspan(slice.first, slice.count)
               : std::span<const float>(bucket.received[next++]);
      std::ranges::copy(values, slice_.next(slice.count).begin());
      slice_.add(subtrees_[rank][k].count);
    }
  std::ranges::copy(slice_.sum(), result_.subspan(slice.first, slice.count).begin());
}

void RankSum::hand_on(Bucket& bucket) {
  const auto bytes = [&](int rank) {
    const distributed::Part slice = bucket.slices[static_cast<size_t>(rank)];
    return std::as_writable_bytes(result_.subspan(slice.first, slice.count));
  };
  std::vector<Send> sends;
  std::vector<Receive> receives;
  for (int peer = 0; peer < world_.size(); ++peer) {
    if (peer == world_.rank()) continue;
    sends.push_back({peer, bytes(world_.rank())});
    receives.push_back({peer, bytes(peer)});
  }
  bucket.back = world_.start(sends, receives, kBack);
}

}  // namespace mdsm::train

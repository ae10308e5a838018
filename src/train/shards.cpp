#include "train/shards.h"

#include <bit>

#include "core/error.h"
#include "core/threads.h"

namespace mdsm::train {
namespace {

constexpr int64_t kBatchOfTwo = 64;  // halves of this are large enough to be fast

bool is_power_of_two(int64_t number) {
  return number > 0 && std::has_single_bit(static_cast<uint64_t>(number));
}

}  // namespace

int64_t default_shards(int64_t batch) { return batch < kBatchOfTwo ? 1 : 2; }

void check_shards(int64_t shards, int64_t batch) {
  if (!is_power_of_two(shards)) fail_usage("use 1, 2, 4, 8, ...", "--shards {} is no power of two", shards);
  if (shards > batch)
    fail_usage("a shard has at least one image", "--shards {} is more than --batch {}", shards, batch);
}

ImageRange shard_of(int64_t batch, int64_t shards, int64_t shard) {
  const int64_t first = batch * shard / shards;
  return {first, batch * (shard + 1) / shards - first};
}

ImageRange shards_of_process(int64_t shards, int64_t processes, int64_t process) {
  if (!is_power_of_two(processes) || processes > shards || process < 0 || process >= processes)
    fail("use 1, 2, 4, ... processes, and at least as many shards",
         "process {} of {} has no part of {} shards", process, processes, shards);
  return {shards / processes * process, shards / processes};
}

std::span<float> TreeSum::next(size_t count) {
  if (used_ == nodes_.size()) nodes_.emplace_back();
  nodes_[used_].values.resize(count);
  return nodes_[used_].values;
}

void TreeSum::add() {
  nodes_[used_++].leaves = 1;
  for (; used_ > 1 && nodes_[used_ - 2].leaves == nodes_[used_ - 1].leaves; --used_) {
    Node &left = nodes_[used_ - 2], &right = nodes_[used_ - 1];
    parallel_for(static_cast<int64_t>(left.values.size()), 1 << 14, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        left.values[i] += right.values[i];
    });
    left.leaves += right.leaves;
  }
}

std::span<float> TreeSum::sum() {
  if (used_ != 1) fail("this is a bug", "a tree of sums with {} ends", used_);
  return nodes_[0].values;
}

double tree_sum(std::span<const double> leaves) {
  if (leaves.size() == 1) return leaves[0];
  const size_t half = leaves.size() / 2;
  return tree_sum(leaves.first(half)) + tree_sum(leaves.subspan(half));
}

}  // namespace mdsm::train

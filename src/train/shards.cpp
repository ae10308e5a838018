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
  if (processes > shards || process < 0 || process >= processes)
    fail_usage(fmt::format("start at most {}, or begin a run with more --shards, a power of two", shards),
               "{} processes cannot share a batch of {} shard{}", processes, shards, shards == 1 ? "" : "s");
  return shard_of(shards, processes, process);
}

std::vector<ImageRange> subtrees(ImageRange leaves) {
  std::vector<ImageRange> found;
  for (int64_t first = leaves.first; first < leaves.end();) {
    int64_t count = 1;
    while (first % (2 * count) == 0 && first + 2 * count <= leaves.end()) count *= 2;
    found.push_back({first, count});
    first += count;
  }
  return found;
}

void TreeSum::clear(int64_t first_leaf) {
  used_ = 0;
  next_leaf_ = first_leaf;
}

std::span<float> TreeSum::next(size_t count) {
  if (used_ == nodes_.size()) nodes_.emplace_back();
  nodes_[used_].values.resize(count);
  return nodes_[used_].values;
}

// Two subtrees become one where they are the two halves of one.
void TreeSum::place(int64_t leaves) {
  leaf_ = used_++;
  nodes_[leaf_].leaves = {next_leaf_, leaves};
  next_leaf_ += leaves;
  for (merges_ = 0; used_ > 1; ++merges_, --used_) {
    ImageRange &left = nodes_[used_ - 2].leaves, &right = nodes_[used_ - 1].leaves;
    if (left.count != right.count || left.first % (2 * left.count) != 0) return;
    left.count *= 2;
  }
}

void TreeSum::add_values(size_t first, size_t count) {
  for (size_t k = 0; k < merges_; ++k) {
    float* const left = nodes_[leaf_ - k - 1].values.data() + first;
    const float* const right = nodes_[leaf_ - k].values.data() + first;
    parallel_for(static_cast<int64_t>(count), 1 << 14, [&](int64_t begin, int64_t end) {
      for (int64_t i = begin; i < end; ++i) left[i] += right[i];
    });
  }
}

void TreeSum::add(int64_t leaves) {
  place(leaves);
  add_values(0, nodes_[leaf_].values.size());
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

// A batch as a fixed number of shards, a power of two. Each has a gradient of its own, and these are added in
// a fixed binary tree, ((g0 + g1) + (g2 + g3)), as are the sums of a loss: the number of shards, recorded in
// the run, decides the bits, and neither threads nor who computes which shard do. A process that has one of
// 2, 4, ... equal parts of the shards computes a subtree; the sums of the parts are the leaves of the tree
// above.
#pragma once

#include <algorithm>
#include <cstdint>
#include <span>
#include <vector>

namespace mdsm::train {

struct ImageRange {
  int64_t first, count;
  int64_t end() const { return first + count; }
};

int64_t default_shards(int64_t batch);
// Throws a usage error where it is no power of two or more than the batch has images.
void check_shards(int64_t shards, int64_t batch);

// The images of a shard: equal shares, as far as that goes.
ImageRange shard_of(int64_t batch, int64_t shards, int64_t shard);
// The shards of one process among `processes`, a power of two and at most as many as there are shards.
ImageRange shards_of_process(int64_t shards, int64_t processes, int64_t process);

// Adds vectors, given one after the other, in the tree. Keeps one vector for each of its levels, and the
// memory for the next sum.
class TreeSum {
 public:
  void clear() { used_ = 0; }
  std::span<float> next(size_t count);  // room for the next leaf
  void add();                           // it is filled in
  std::span<float> sum();               // of all leaves, which were a power of two

 private:
  struct Node {
    std::vector<float> values;
    int64_t leaves = 0;
  };
  std::vector<Node> nodes_;
  size_t used_ = 0;
};

double tree_sum(std::span<const double> leaves);

// Mean of term(i) over some of the images of a batch: each shard's in order, the shards' sums in the tree.
template <class Term>
double mean_by_shards(ImageRange images, int64_t batch, int64_t shards, const Term& term) {
  std::vector<double> sums(static_cast<size_t>(shards));
  for (int64_t k = 0; k < shards; ++k) {
    const ImageRange shard = shard_of(batch, shards, k);
    for (int64_t i = std::max(images.first, shard.first); i < std::min(images.end(), shard.end()); ++i)
      sums[static_cast<size_t>(k)] += static_cast<double>(term(static_cast<size_t>(i)));
  }
  return tree_sum(sums) / static_cast<double>(images.count);
}

}  // namespace mdsm::train

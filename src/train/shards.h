// A batch as a fixed number of shards, a power of two. Each has a gradient of its own, and these are added in
// a fixed binary tree, ((g0 + g1) + (g2 + g3)), as are the sums of a loss: the number of shards, recorded in
// the run, decides the bits, and neither threads nor who computes which shard do. A process that has one of
// 2, 4, ... equal parts of the shards computes one subtree, other parts are a few of them; rank_sum.h adds up
// the rest of the tree.
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
// The shards of one process among `processes`, at most as many as there are shards: equal shares, as far as
// that goes.
ImageRange shards_of_process(int64_t shards, int64_t processes, int64_t process);

// The largest subtrees that a range of leaves is made of, in order.
std::vector<ImageRange> subtrees(ImageRange leaves);

// Adds vectors, given one after the other, in the tree. Keeps one vector for each of its levels, and the
// memory for the next sum.
class TreeSum {
 public:
  struct Node {
    std::vector<float> values;
    ImageRange leaves;
  };
  void clear(int64_t first_leaf = 0);
  std::span<float> next(size_t count);  // room for the next leaf, or for the sum of a whole subtree
  void add(int64_t leaves = 1);         // it is filled in
  std::span<float> sum();               // of all leaves, which were a power of two
  std::span<const Node> nodes() const {
    return {nodes_.data(), used_};
  }  // what there is: subtrees of the leaves

  // add() in two: first its place in the tree, then, whenever some of its values are filled in, these.
  void place(int64_t leaves = 1);
  void add_values(size_t first, size_t count);

 private:
  std::vector<Node> nodes_;
  size_t used_ = 0;
  int64_t next_leaf_ = 0;
  size_t leaf_ = 0, merges_ = 0;  // the node that came last, and how many before it take it up
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

// The gradient of a batch from those of its shards, on this process and all others. What the engine has
// finished of the last shard's gradient is sent while it computes the rest.
#include "core/error.h"
#include "engine/gradient_progress.h"
#include "train/objective.h"

namespace mdsm::train {
namespace {

constexpr size_t kBucket = 1 << 18;  // values: a megabyte, except for the last piece of a vector

// The last shard of this process: leaves the sum of all ranks in `result`.
class LastShard {
 public:
  LastShard(const TrainingContext& run, TreeSum& sum, std::span<float> result)
      : run_(run), sum_(sum), left_(result.size()) {
    leaf_ = sum.next(result.size());
    sum.place();
    run.rank_sum->begin(sum, result);
  }

  void compute(const std::function<void(ImageRange)>& body, ImageRange shard) {
    auto* engine = run_.options.overlap ? dynamic_cast<engine::GradientProgress*>(&run_.engine) : nullptr;
    if (engine)
      engine->tell_progress([this](size_t from, std::span<const float> gradient) { told(from, gradient); });
    try {
      body(shard);
    } catch (const std::exception& error) {
      if (engine) engine->tell_progress({});
      run_.world.abort(
          error.what());  // the other ranks wait for what will not come, and this one's thread for them
      throw;
    }
    if (engine) engine->tell_progress({});
    run_.rank_sum->calls_of_last_shard = calls_;
    if (left_ == 0) return;
    std::vector<float> gradient(leaf_.size());
    run_.engine.read(engine::StateVector::gradient, gradient);
    send(0, gradient);
  }

 private:
  // An objective may call the engine several times for a shard; how often, the step before has shown.
  void told(size_t from, std::span<const float> gradient) {
    const int64_t expected = run_.rank_sum->calls_of_last_shard;
    if (left_ == 0) fail("this is a bug", "the gradient of a shard changed after it was sent");
    if (calls_ + 1 == expected && (from == 0 || left_ - from >= kBucket)) send(from, gradient);
    if (from == 0) ++calls_;
  }

  // What is left from `from` on.
  void send(size_t from, std::span<const float> gradient) {
    while (left_ > from) {
      const size_t count = std::min(kBucket, left_ - from);
      left_ -= count;
      std::ranges::copy(gradient.subspan(left_, count), leaf_.begin() + static_cast<std::ptrdiff_t>(left_));
      sum_.add_values(left_, count);
      run_.rank_sum->send({left_, count});
    }
  }

  const TrainingContext& run_;
  TreeSum& sum_;
  std::span<float> leaf_;
  size_t left_;  // values that were not sent yet, the first ones
  int64_t calls_ = 0;
};

void add_leaf(const TrainingContext& run, TreeSum& sum, size_t count) {
  run.engine.read(engine::StateVector::gradient, sum.next(count));
  sum.add();
}

void sum_in_any_order(const TrainingContext& run, const TreeSum& sum, std::span<float> total) {
  std::ranges::fill(total, 0.0f);
  for (const TreeSum::Node& node : sum.nodes())
    for (size_t i = 0; i < total.size(); ++i) total[i] += node.values[i];
  run.world.reordered_sum(total);
}

}  // namespace

void for_shards(const TrainingContext& run, const std::function<void(ImageRange)>& body) {
  if (run.options.shards == 1) return body({0, run.options.batch});
  const ImageRange shards = run.shards_of(run.world.rank());
  const bool in_tree = !run.world.alone() && !run.options.allow_reorder;
  const auto count = static_cast<size_t>(network::parameter_count(run.engine.spec()));
  const auto shard = [&](int64_t k) { return shard_of(run.options.batch, run.options.shards, k); };
  TreeSum own;
  TreeSum& sum = run.sum ? *run.sum : own;
  sum.clear(shards.first);
  for (int64_t k = shards.first; k < shards.end() - in_tree; ++k) {
    body(shard(k));
    add_leaf(run, sum, count);
    if (k + 1 < shards.end()) run.engine.zero_gradient();
  }
  if (run.world.alone()) return run.engine.write(engine::StateVector::gradient, sum.sum());
  const std::span<float> total = run.rank_sum->room(count);
  if (in_tree) {
    LastShard(run, sum, total).compute(body, shard(shards.end() - 1));
    run.rank_sum->finish();
  } else {
    sum_in_any_order(run, sum, total);
  }
  run.engine.write(engine::StateVector::gradient, total);
}

}  // namespace mdsm::train

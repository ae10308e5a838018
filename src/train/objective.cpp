#include "train/objective.h"

#include <algorithm>
#include <cmath>

namespace mdsm::train {
namespace {

nlohmann::json sampling_record(double sigma0, double hot, int steps_hot, int steps_cool, int steps_end) {
  return {{"sampler", "annealed"},   {"eps", sigma0 / 5},      {"start", "0.5 + n"},
          {"temperature", {hot, 1}}, {"steps_hot", steps_hot}, {"steps_cool", steps_cool},
          {"steps_end", steps_end},  {"denoise", true}};
}

}  // namespace

std::string Objective::log_line(const StatsRecord& r) const {
  std::string line = fmt::format("loss {:.4g}", r.loss);
  for (const Statistic& own : r.own) line += fmt::format(", {} {:.4g}", own.name, fmt::join(own.values, " "));
  return line +
         fmt::format(", gradient {:.3g}, rate {:.3g}, {:.0f} images/s", r.grad_norm, r.lr, r.images_per_s);
}

void for_shards(const TrainingContext& run, const std::function<void(ImageRange)>& body) {
  const int64_t shards = run.options.shards;
  if (shards == 1) return body({0, run.options.batch});
  TreeSum own;
  TreeSum& sum = run.sum ? *run.sum : own;
  sum.clear();
  const auto count = static_cast<size_t>(network::parameter_count(run.engine.spec()));
  for (int64_t k = 0; k < shards; ++k) {
    body(shard_of(run.options.batch, shards, k));
    run.engine.read(engine::StateVector::gradient, sum.next(count));
    sum.add();
    if (k + 1 < shards) run.engine.zero_gradient();
  }
  run.engine.write(engine::StateVector::gradient, sum.sum());
}

nlohmann::json Objective::sampling(const TrainOptions& options) const {
  return constant_sampling(options.sigma0);
}

nlohmann::json constant_sampling(double sigma0) { return sampling_record(sigma0, 1, 1000, 0, 0); }

nlohmann::json annealed_sampling(double sigma0) {
  return sampling_record(sigma0, std::max(1.0, std::pow(1 / sigma0, 2)), 500, 2000, 200);
}

}  // namespace mdsm::train

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

ImageRange TrainingContext::images_of(int rank) const {
  const ImageRange shards = shards_of(rank);
  const int64_t first = shard_of(options.batch, options.shards, shards.first).first;
  return {first, shard_of(options.batch, options.shards, shards.end() - 1).end() - first};
}

void TrainingContext::gather(std::span<float> values) const {
  if (world.alone()) return;
  const size_t each = values.size() / static_cast<size_t>(options.batch);
  std::vector<distributed::Part> parts;
  for (int rank = 0; rank < world.size(); ++rank) {
    const ImageRange images = images_of(rank);
    parts.push_back({static_cast<size_t>(images.first) * each, static_cast<size_t>(images.count) * each});
  }
  world.gather(values, parts);
}

nlohmann::json Objective::sampling(const TrainOptions& options) const {
  return constant_sampling(options.sigma0);
}

nlohmann::json constant_sampling(double sigma0) { return sampling_record(sigma0, 1, 1000, 0, 0); }

nlohmann::json annealed_sampling(double sigma0) {
  return sampling_record(sigma0, std::max(1.0, std::pow(1 / sigma0, 2)), 500, 2000, 200);
}

}  // namespace mdsm::train

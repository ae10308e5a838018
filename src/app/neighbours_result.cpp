// The result of `mdsm neighbours` as JSON and as text.
#include "app/neighbours.h"
#include "core/error.h"
#include "eval/mean.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

// With the lists of neighbours or without them.
enum class Lists { all, none };

json lists(const SpaceResult& result, int64_t k) {
  json all = json::array();
  for (size_t i = 0; i < result.nearest.size(); i += static_cast<size_t>(k)) {
    json indices = json::array(), distances = json::array();
    for (size_t rank = 0; rank < static_cast<size_t>(k); ++rank) {
      indices.push_back(result.nearest[i + rank].index);
      distances.push_back(result.nearest[i + rank].distance);
    }
    all.push_back({{"index", indices}, {"distance", distances}});
  }
  return all;
}

json memorisation_json(const eval::Memorisation& m) {
  return {{"n_held_out", m.held_out},
          {"sample_mean", m.sample_mean},
          {"sample_mean_se", m.sample_error},
          {"held_out_mean", m.held_out_mean},
          {"held_out_mean_se", m.held_out_error},
          {"quantile", m.quantile},
          {"threshold", m.threshold},
          {"meaningful", m.meaningful()},
          {"share_below", m.share},
          {"share_below_se", m.share_error}};
}

json space_json(const SpaceResult& result, int64_t k, Lists which) {
  json values = {{"distance", distance_text(result.space)},
                 {"searched_in_double", result.searched_in_double},
                 {"seconds", result.seconds}};
  if (which == Lists::all) values["neighbours"] = lists(result, k);
  if (result.memorisation) values["memorisation"] = memorisation_json(*result.memorisation);
  if (result.network) values["network"] = *result.network;
  return values;
}

json result_json(const NeighboursResult& result, Lists which) {
  json values = space_json(result.pixels, result.k, which);
  values.update({{"training", result.training},
                 {"samples", result.samples},
                 {"n_training", result.n_training},
                 {"n_samples", result.n_samples},
                 {"k", result.k},
                 {"parameters", result.parameters}});
  if (!result.seeds.empty()) values["seeds"] = result.seeds;
  if (result.held_out) values["held_out"] = *result.held_out;
  if (result.features) values["features"] = space_json(*result.features, result.k, which);
  return values;
}

void print_space(const char* title, const SpaceResult& result, int64_t k) {
  fmt::print("{:<12} k = {}, {}; {:.1f} s, {} images searched again in double\n", title, k,
             distance_text(result.space), result.seconds, result.searched_in_double);
  if (!result.memorisation) return;
  const eval::Memorisation& m = *result.memorisation;
  fmt::print("nearest      samples {} (n = {}), held-out images {} (n = {})\n",
             eval::with_error(m.sample_mean, m.sample_error, 4), m.samples,
             eval::with_error(m.held_out_mean, m.held_out_error, 4), m.held_out);
  if (!m.meaningful()) {
    fmt::print("memorised?   no answer: {:g} % of the held-out images are training images themselves\n",
               100 * m.quantile);
    return;
  }
  fmt::print(
      "memorised?   {:.1f} % +- {:.1f} % of the samples are nearer than {:.4f}, where {:g} % of the held-out "
      "images are\n",
      100 * m.share, 100 * m.share_error, m.threshold, 100 * m.quantile);
}

}  // namespace

const char* distance_text(Space space) {
  return space == Space::pixels ? "L2, pixels in [0,1], exact" : "L2 of features, exact";
}

json to_json(const NeighboursResult& result) {
  json values = result_json(result, Lists::none);
  values["out"] = result.out;
  return values;
}

json file_json(const NeighboursResult& result) { return result_json(result, Lists::all); }

void print(const NeighboursResult& result) {
  fmt::print("samples      {}{}\ntraining     {}\n", result.samples,
             result.seeds.empty() ? "" : ", seeds " + result.seeds, result.training);
  if (result.held_out) fmt::print("held out     {}\n", *result.held_out);
  print_space("pixels", result.pixels, result.k);
  if (result.features) {
    const eval::FeatureDescription& network = *result.features->network;
    fmt::print("\nfeatures     {} ({}), {} dimensions\n", network.file, to_string(network.kind),
               network.dimensions);
    print_space("search", *result.features, result.k);
  }
  fmt::print("written      {}\n", (fs::path(result.out) / "figure.svg").string());
}

}  // namespace mdsm::app

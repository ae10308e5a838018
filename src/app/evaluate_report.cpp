// The result of `mdsm evaluate` as JSON and as text.
#include "app/evaluate.h"
#include "core/json.h"

namespace mdsm::app {

using nlohmann::json;

namespace {

json rows_json(const EvaluateResult& result) {
  json rows = json::array();
  for (const CheckpointRow& row : result.rows) {
    json values = row.failed.empty() ? to_json(row.found) : json{{"failed", row.failed}};
    values["checkpoint"] = row.checkpoint;
    values["best"] = row.best;
    rows.push_back(std::move(values));
  }
  return rows;
}

void print_left_out(const eval::Evaluation& found) {
  for (const auto& [name, why] : found.left_out) fmt::print("{:<15} left out: {}\n", name, why);
}

void print_checkpoints(const EvaluateResult& result, const eval::Metrics& metrics) {
  const auto columns = metrics.columns();
  fmt::print("{:<26}", "checkpoint");
  for (const auto& column : columns) fmt::print(" {:>{}}", column.title, column.width);
  fmt::print("\n");
  const eval::Evaluation* whole = nullptr;
  for (const CheckpointRow& row : result.rows) {
    if (!row.failed.empty()) {
      fmt::print("{:<26} failed: {}\n", row.checkpoint, row.failed);
      continue;
    }
    whole = &row.found;
    fmt::print("{:<26}", row.checkpoint);
    const auto cells = metrics.cells(row.found);
    for (size_t i = 0; i < cells.size(); ++i) fmt::print(" {:>{}}", cells[i], columns[i].width);
    fmt::print("{}\n", row.best ? "  best" : "");
  }
  if (whole) print_left_out(*whole);
  std::string sampler;
  for (const auto& [name, setting] : result.sampler.items())  // settings of any sampler: names and values
    sampler += fmt::format("{}{} {}", sampler.empty() ? "" : ", ", name,
                           setting.is_string() ? setting.get<std::string>() : json_text(setting));
  fmt::print("sampler         {}\n", sampler);
}

}  // namespace

json to_json(const EvaluateResult& result) {
  json values;
  if (result.found) {
    values = to_json(*result.found);
    values["samples"] = {{"from", result.samples_from}, {"n", result.samples_n}};
    if (!result.seeds.empty()) values["samples"]["seeds"] = result.seeds;
  } else {
    values = {{"checkpoints", rows_json(result)},
              {"best", result.best.empty() ? json() : json(result.best)},
              {"samples", {{"n", result.samples_n}, {"seeds", result.seeds}}},
              {"sampler", result.sampler},
              {"complete", result.complete}};
  }
  values["features"] = result.features;
  values["reference"] =
      result.statistics.empty()
          ? json{{"from", result.reference_from}, {"n", result.reference_n}, {"split", result.reference_part}}
          : json{{"statistics", result.statistics}};
  if (result.real)
    values["real"] = {{"fid", result.real->fid}, {"n", result.real->n}, {"split", result.real->part}};
  return values;
}

void print(const EvaluateResult& result, const eval::Metrics& metrics) {
  if (result.found) {
    fmt::print("{}", text(*result.found));
    print_left_out(*result.found);
  } else {
    print_checkpoints(result, metrics);
  }
  if (result.real)
    fmt::print("real images     FID {:.4f}, {} {} images against the same reference\n", result.real->fid,
               result.real->n, result.real->part);
  const eval::FeatureDescription& network = result.features;
  fmt::print("features        {} ({}), {} dimensions, values {}, resize {}\n", network.file,
             to_string(network.kind), network.dimensions, network.values, network.resize);
  fmt::print("reference       {}\n", result.statistics.empty() ? result.reference_from : result.statistics);
  fmt::print("samples         {}{}\n",
             result.found ? result.samples_from : fmt::format("{} of each", result.samples_n),
             result.seeds.empty() ? "" : ", seeds " + result.seeds);
}

}  // namespace mdsm::app

#include "cli/evaluation_print.h"

#include <algorithm>
#include <cmath>

#include "app/features.h"
#include "core/error.h"

namespace mdsm::cli {
namespace {

using app::with_error;
using nlohmann::json;

double value(const json& of, const char* key) { return of[key].is_number() ? of[key].get<double>() : NAN; }

void print_classes(const json& found) {
  const auto shares = found["shares"].get<std::vector<double>>();
  const auto [least, most] = std::minmax_element(shares.begin(), shares.end());
  fmt::print("classes         {} of {} seen; most {:.1f} % (class {}), least {:.1f} % (class {})\n",
             std::count_if(shares.begin(), shares.end(), [](double share) { return share > 0; }),
             shares.size(), 100 * *most, most - shares.begin(), 100 * *least, least - shares.begin());
  fmt::print("doubtful        {:.1f} % of the samples have no class of probability {:g}{}\n",
             100 * found["doubtful"].get<double>(), found["doubtful_below"].get<double>(),
             found.contains("doubtful_reference")
                 ? fmt::format(", {:.1f} % of the reference", 100 * found["doubtful_reference"].get<double>())
                 : "");
}

void print_measures(const json& found) {
  const json& fid = found["fid"];
  fmt::print("FID             {:.4f}    n {}, reference {}\n", value(fid, "value"), fid["n"].get<int64_t>(),
             fid["n_reference"].is_number() ? fmt::format("n {}", fid["n_reference"].get<int64_t>())
                                            : "of unknown n");
  if (found.contains("inception_score")) {
    const json& score = found["inception_score"];
    fmt::print("Inception score {} (standard error over {} splits), n {}\n",
               with_error(value(score, "value"), value(score, "standard_error"), 4),
               score["splits"].get<int64_t>(), score["n"].get<int64_t>());
    print_classes(found["classes"]);
  }
  if (found.contains("kid")) {
    const json& kid = found["kid"];
    fmt::print("KID             {} (standard error over {} subsets of {}, seed {}; their deviation {:.6f})\n",
               with_error(value(kid, "value"), value(kid, "standard_error"), 6),
               kid["subsets"].get<int64_t>(), kid["subset_size"].get<int64_t>(), kid["seed"].get<uint64_t>(),
               value(kid, "standard_deviation"));
  }
  if (found.contains("precision_recall")) {
    const json& both = found["precision_recall"];
    fmt::print("precision       {}, recall {}    k {}, n {}, reference n {}, seed {}\n",
               with_error(value(both, "precision"), value(both, "precision_standard_error"), 4),
               with_error(value(both, "recall"), value(both, "recall_standard_error"), 4),
               both["k"].get<int64_t>(), both["n"].get<int64_t>(), both["n_reference"].get<int64_t>(),
               both["seed"].get<uint64_t>());
  }
}

void print_left_out(const json& found) {
  for (const auto& [name, why] : found["left_out"].items())
    fmt::print("{:<15} left out: {}\n", name, why.get<std::string>());
}

void print_checkpoints(const json& found) {
  fmt::print("{:<26} {:>10} {:>18} {:>24} {:>18} {:>18}\n", "checkpoint", "FID", "IS", "KID", "precision",
             "recall");
  const json* whole = nullptr;
  for (const json& row : found["checkpoints"]) {
    const std::string name = row["checkpoint"].get<std::string>();
    if (row.contains("failed")) {
      fmt::print("{:<26} failed: {}\n", name, row["failed"].get<std::string>());
      continue;
    }
    whole = &row;
    const auto cell = [&](const char* part, const char* key, const char* error, int digits) {
      return row.contains(part) ? with_error(value(row[part], key), value(row[part], error), digits)
                                : std::string("-");
    };
    fmt::print("{:<26} {:>10.4f} {:>18} {:>24} {:>18} {:>18}{}\n", name, value(row["fid"], "value"),
               cell("inception_score", "value", "standard_error", 4),
               cell("kid", "value", "standard_error", 6),
               cell("precision_recall", "precision", "precision_standard_error", 4),
               cell("precision_recall", "recall", "recall_standard_error", 4),
               row["best"].get<bool>() ? "  best" : "");
  }
  if (whole) print_left_out(*whole);
  std::string sampler;
  for (const auto& [name, setting] : found["sampler"].items())
    sampler += fmt::format("{}{} {}", sampler.empty() ? "" : ", ", name,
                           setting.is_string() ? setting.get<std::string>() : setting.dump());
  fmt::print("sampler         {}\n", sampler);
}

}  // namespace

void print_evaluation(const json& found) {
  if (found.contains("checkpoints"))
    print_checkpoints(found);
  else
    print_measures(found), print_left_out(found);
  const json &features = found["features"], &reference = found["reference"], &samples = found["samples"];
  fmt::print("features        {} ({}), {} dimensions, values {}, resize {}\n",
             features["file"].get<std::string>(), features["kind"].get<std::string>(),
             features.value("dimensions", int64_t{0}), features["values"].get<std::string>(),
             features["resize"].get<std::string>());
  fmt::print("reference       {}\n", reference.contains("from") ? reference["from"].get<std::string>()
                                                                : reference["statistics"].get<std::string>());
  fmt::print("samples         {}{}\n",
             samples.contains("from") ? samples["from"].get<std::string>()
                                      : fmt::format("{} of each", samples["n"].get<int64_t>()),
             samples.contains("seeds") ? ", seeds " + samples["seeds"].get<std::string>() : "");
}

}  // namespace mdsm::cli

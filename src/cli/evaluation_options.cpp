#include "cli/evaluation_options.h"

#include <cmath>

#include "core/error.h"
#include "model/bundled.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

constexpr std::string_view kPrefix = "classifier-";

std::string bundled_classifiers() {
  std::string names;
  for (const std::string& name : list_bundled())
    if (name.starts_with(kPrefix)) names += (names.empty() ? "" : ", ") + name.substr(kPrefix.size());
  return names;
}

double value(const json& of, const char* key) { return of[key].is_number() ? of[key].get<double>() : NAN; }

void print_measures(const json& found) {
  const json& fid = found["fid"];
  fmt::print("FID             {:.4f}    n {}, reference {}\n", value(fid, "value"), fid["n"].get<int64_t>(),
             fid["n_reference"].is_number() ? fmt::format("n {}", fid["n_reference"].get<int64_t>())
                                            : "of unknown n");
  if (found.contains("inception_score")) {
    const json& score = found["inception_score"];
    fmt::print("Inception score {:.4f} +- {:.4f} (standard error over {} splits), n {}\n",
               value(score, "value"), value(score, "standard_error"), score["splits"].get<int64_t>(),
               score["n"].get<int64_t>());
  }
  if (found.contains("kid")) {
    const json& kid = found["kid"];
    fmt::print(
        "KID             {:.6f} +- {:.6f} (standard error over {} subsets of {}; their deviation {:.6f})\n",
        value(kid, "value"), value(kid, "standard_error"), kid["subsets"].get<int64_t>(),
        kid["subset_size"].get<int64_t>(), value(kid, "standard_deviation"));
  }
  if (found.contains("precision_recall")) {
    const json& both = found["precision_recall"];
    fmt::print("precision       {:.4f} +- {:.4f}, recall {:.4f} +- {:.4f}    k {}, n {}, reference n {}\n",
               value(both, "precision"), value(both, "precision_standard_error"), value(both, "recall"),
               value(both, "recall_standard_error"), both["k"].get<int64_t>(), both["n"].get<int64_t>(),
               both["n_reference"].get<int64_t>());
  }
  for (const auto& [name, why] : found["left_out"].items())
    fmt::print("{:<15} left out: {}\n", name, why.get<std::string>());
}

void print_checkpoints(const json& found) {
  fmt::print("{:<26} {:>10} {:>9} {:>11} {:>10} {:>8}\n", "checkpoint", "FID", "IS", "KID", "precision",
             "recall");
  for (const json& row : found["checkpoints"]) {
    const auto cell = [&](const char* part, const char* key, int digits) {
      return row.contains(part) ? fmt::format("{:.{}f}", value(row[part], key), digits) : std::string("-");
    };
    fmt::print("{:<26} {:>10} {:>9} {:>11} {:>10} {:>8}{}\n", row["checkpoint"].get<std::string>(),
               cell("fid", "value", 4), cell("inception_score", "value", 4), cell("kid", "value", 6),
               cell("precision_recall", "precision", 4), cell("precision_recall", "recall", 4),
               row["best"].get<bool>() ? "  best" : "");
  }
}

}  // namespace

fs::path classifier_path(const std::string& given) {
  std::error_code error;
  if (fs::exists(given, error)) return given;
  if (const auto bundled = find_bundled(std::string(kPrefix) + given)) return *bundled;
  const std::string names = bundled_classifiers();
  fail(names.empty() ? "make one with mdsm classifier, or set MDSM_MODELS to the folder of the bundled ones"
                     : fmt::format("make one with mdsm classifier, or use a bundled one: {}", names),
       "{}: no such classifier", given);
}

std::string default_classifier(const std::string& source) {
  const std::string name = source.substr(0, source.find(':'));
  if (find_bundled(std::string(kPrefix) + name)) return name;
  fail_usage("give --classifier (made by mdsm classifier) or --features FILE.pt",
             "no classifier comes with mdsm for {}", source.empty() ? "a statistics file" : source);
}

SampleSource sample_source(const std::string& given) {
  std::error_code error;
  const fs::path folder = given;
  if (!fs::is_regular_file(folder / "samples.npy", error)) return {given, ""};
  SampleSource found{(folder / "samples.npy").string(), ""};
  if (!fs::is_regular_file(folder / "samples.json", error)) return found;
  const json values = json::parse(read_text(folder / "samples.json"), nullptr, false);
  if (values.is_object() && values.contains("summary") && values["summary"].is_object())
    found.seeds = values["summary"].value("seeds", json()).is_string()
                      ? values["summary"]["seeds"].get<std::string>()
                      : "";
  return found;
}

void print_evaluation(const json& found) {
  if (found.contains("checkpoints"))
    print_checkpoints(found);
  else
    print_measures(found);
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

// Scores of images for people and for machines.
#include <algorithm>

#include "app/score.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

// As RFC 4180 has it.
std::string quoted(const std::string& text) {
  if (text.find_first_of(",\"\r\n") == std::string::npos) return text;
  std::string out = "\"";
  for (const char c : text) out += c == '"' ? "\"\"" : std::string(1, c);
  return out + "\"";
}

}  // namespace

int64_t ScoreResult::outliers() const {
  return std::ranges::count_if(images,
                               [](const ScoredImage& one) { return one.found && one.found->outlier; });
}

int64_t ScoreResult::unreadable() const {
  return std::ranges::count_if(images, [](const ScoredImage& one) { return !one.found; });
}

json to_json(const ScoreResult& result) {
  json rows = json::array();
  for (const ScoredImage& one : result.images) {
    json& row = rows.emplace_back(json{{"image", one.image}, {"verdict", one.verdict()}});
    if (!one.found) {
      row["problem"] = one.problem;
      continue;
    }
    row.update({{"score", one.found->score}, {"p", one.found->p}});
    const auto names = names_in_order<eval::DetectorPart>();
    for (size_t k = 0; k < names.size(); ++k) row["parts"][names[k]] = one.found->parts[k];
    if (!one.heatmap.empty()) row["heatmap"] = one.heatmap;
  }
  return {{"parameters", result.parameters},
          {"rate", result.rate},
          {"threshold", result.threshold},
          {"n", result.images.size()},
          {"outliers", result.outliers()},
          {"unreadable", result.unreadable()},
          {"images", rows}};
}

std::string table_head() { return fmt::format("{:<48} {:>9} {:>9}  verdict\n", "image", "score", "p"); }

std::string table_row(const ScoredImage& one) {
  if (!one.found) return fmt::format("{:<48} {:>9} {:>9}  unreadable\n", one.image, "", "");
  return fmt::format("{:<48} {:>9.3f} {:>9.4f}  {}\n", one.image, one.found->score, one.found->p,
                     one.verdict());
}

std::string table_end(const ScoreResult& result) {
  return fmt::format("{} of {} images are outliers: scores above {:.3f}, for a false-alarm rate of {:g}\n",
                     result.outliers(), result.images.size(), result.threshold, result.rate);
}

std::string csv_head() {
  return fmt::format("image,score,p,verdict,{}\n", fmt::join(names_in_order<eval::DetectorPart>(), ","));
}

std::string csv_row(const ScoredImage& one) {
  if (!one.found) return fmt::format("{},,,unreadable,,,\n", quoted(one.image));
  return fmt::format("{},{:.9g},{:.9g},{},{:.9g}\n", quoted(one.image), one.found->score, one.found->p,
                     one.verdict(), fmt::join(one.found->parts, ","));
}

}  // namespace mdsm::app

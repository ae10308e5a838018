// The result of completing pictures for people and for machines.
#include <algorithm>
#include <cmath>

#include "app/complete.h"

#include "core/json.h"
namespace mdsm::app {

using nlohmann::json;

json to_json(const CompleteResult& result) {
  json pictures = json::array();
  for (const CompletedPicture& one : result.pictures) {
    json ratios = json::array();
    for (const double ratio : one.psnr) ratios.push_back(number_or_null(ratio));
    pictures.push_back({{"name", one.picture.name},
                        {"from", one.picture.from},
                        {"fitted", one.picture.fitted},
                        {"missing", one.missing},
                        {"scales", one.scales},
                        {"psnr", ratios}});
  }
  return {{"parameters", result.parameters},
          {"completions", result.completions},
          {"gradient_evaluations", result.gradient_evaluations},
          {"pictures", pictures}};
}

void print(const CompleteResult& result) {
  fmt::print("{:<40} missing  PSNR of the completions against the picture\n", "picture");
  for (size_t i = 0; i < std::min(result.pictures.size(), kMaxListed); ++i) {
    const CompletedPicture& one = result.pictures[i];
    std::string ratios;
    for (const double ratio : one.psnr)
      ratios += std::isfinite(ratio) ? fmt::format(" {:.2f}", ratio) : " exact";
    fmt::print("{:<40} {:>6.1f}% {}\n", one.picture.name, 100 * one.missing, ratios);
    if (!one.picture.fitted.empty()) fmt::print("  {}\n", one.picture.fitted);
    if (one.scales > 0) fmt::print("  at 1/{} of its size first\n", int64_t{1} << one.scales);
  }
  if (result.pictures.size() > kMaxListed)
    fmt::print("... and {} more, all in {}.json\n", result.pictures.size() - kMaxListed, result.command);
  fmt::print("{} gradient evaluations; written to {}\n", result.gradient_evaluations, result.out);
}

}  // namespace mdsm::app

// The result of restoring pictures for people and for machines.
#include <algorithm>

#include "app/restore.h"

namespace mdsm::app {

using nlohmann::json;

json to_json(const RestoreResult& result) {
  json pictures = json::array();
  for (const RestoredPicture& one : result.pictures) {
    pictures.push_back(
        {{"name", one.picture.name}, {"from", one.picture.from}, {"fitted", one.picture.fitted}});
    if (one.psnr_before)
      pictures.back().update({{"psnr_before", *one.psnr_before}, {"psnr_after", one.psnr_after}});
  }
  return {{"parameters", result.parameters}, {"pictures", pictures}};
}

void print(const RestoreResult& result) {
  for (size_t i = 0; i < std::min(result.pictures.size(), kMaxListed); ++i) {
    const RestoredPicture& one = result.pictures[i];
    fmt::print("{:<40}", one.picture.name);
    if (one.psnr_before) fmt::print(" PSNR {:.2f} ->", *one.psnr_before);
    for (const double value : one.psnr_after) fmt::print(" {:.2f}", value);
    fmt::print(" {}\n", one.picture.fitted);
  }
  fmt::print("written to {}\n", result.out);
}

}  // namespace mdsm::app

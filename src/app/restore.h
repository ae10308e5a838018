// Restoring pictures: enlarging and deblurring, what `mdsm restore` does with a model that was trained for
// neither. Missing pixels are in complete.h.
#pragma once

#include <optional>

#include "app/picture_sampling.h"
#include "app/picture_work.h"

namespace mdsm::app {

enum class RestoreTask { superres, deblur };
constexpr auto enum_names(RestoreTask) {
  return names_of<RestoreTask>({{RestoreTask::superres, "superres"}, {RestoreTask::deblur, "deblur"}});
}

struct RestoreOptions {
  PictureOptions pictures;
  RestoreTask task = RestoreTask::superres;
  int64_t factor = 2;  // superres: pixels of the result for one of the picture, along each side
  std::string kernel = "gaussian:1";  // deblur: see restore::read_kernel()
  double threshold = 0.1;             // deblur: frequencies weakened to less than this count as lost
  bool degrade = false;               // spoil the pictures first, and compare with them at the end
  ChooseSampling sampling;            // without it the fast sampler with its own defaults
  RestoreStart start = RestoreStart::automatic;
  int64_t results = 1;  // for each picture
  int64_t seed = 0;     // of the first result

  // How much larger than the picture its results are.
  int64_t enlargement() const { return task == RestoreTask::superres && !degrade ? factor : 1; }
};

struct RestoredPicture {
  PictureEntry picture;
  std::optional<double> psnr_before;  // with degrade, against the picture
  std::vector<double> psnr_after;     // of each result
};

struct RestoreResult {
  std::string out;
  nlohmann::json parameters;
  std::vector<RestoredPicture> pictures;
};

// Writes the results, a figure and the report to the output folder.
RestoreResult run_restore(const RestoreOptions& options, const std::atomic<bool>& stop);
nlohmann::json to_json(const RestoreResult& result);
void print(const RestoreResult& result);

}  // namespace mdsm::app

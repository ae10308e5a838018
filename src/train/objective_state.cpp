#include "train/objective_state.h"

#include <algorithm>

#include "core/error.h"
#include "core/tensor.h"
#include "train/run_folder.h"

namespace mdsm::train {

void StateWriter::tensor(std::string name, std::vector<int64_t> shape, std::span<const float> data) {
  tensors_.push_back({std::move(name), std::move(shape), data});
}

StateReader::StateReader(const io::SafetensorsFile& file, nlohmann::json saved)
    : values(std::move(saved)), file_(file) {}

std::vector<float> StateReader::tensor(const std::string& name, std::span<const int64_t> shape) {
  const auto* entry = file_.find(name);
  if (!entry)
    fail("the file is damaged or belongs to another run", "{}: its {} are missing", file_.path().string(),
         name);
  const bool fits = entry->shape.size() == shape.size() &&
                    std::ranges::equal(entry->shape, shape, [](int64_t have, int64_t wanted) {
                      return wanted < 0 || have == wanted;
                    });
  if (entry->dtype != "F32" || !fits)
    fail_damaged_state(file_.path(), "the " + name + " have another shape or type");
  std::vector<float> found = file_.read(*entry);
  if (find_non_finite(found) >= 0) fail_damaged_state(file_.path(), "the " + name + " are not all finite");
  read_.insert(name);
  return found;
}

void fail_damaged_state(const fs::path& path, const std::string& what) {
  const fs::path earlier = path.parent_path() / kEarlierState;
  std::error_code error;
  const bool has_earlier = path.filename() != kEarlierState && fs::exists(earlier, error);
  fail(has_earlier ? fmt::format("the checkpoint before it is {}; rename it to {} to go on from there",
                                 earlier.string(), path.filename().string())
                   : "the file is damaged or belongs to another run",
       "{}: not a usable training state: {}", path.string(), what);
}

}  // namespace mdsm::train

#include "eval/sample_source.h"

#include "core/files.h"

namespace mdsm {

std::unique_ptr<Dataset> open_samples(const std::string& path, int64_t limit) {
  std::error_code error;
  DataOptions options;
  options.limit = limit;
  const fs::path array = fs::path(path) / "samples.npy";
  options.source = fs::is_regular_file(array, error) ? array.string() : path;
  return open_dataset(options);
}

}  // namespace mdsm

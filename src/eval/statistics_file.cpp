// Statistics of features as .npz: a zip archive of .npy files, compressed or not.
#include <algorithm>
#include <cmath>
#include <map>
#include <set>

#include "core/error.h"
#include "eval/quality.h"
#include "io/archive.h"
#include "io/npy.h"
#include "io/zip.h"

namespace mdsm::eval {
namespace {

constexpr int64_t kMaxDimensions = 4096;
constexpr size_t kMaxHeader = 1 << 17;  // of one array

// The arrays of these names that are there, none larger than this many values.
std::map<std::string, io::NpyDoubles> read_arrays(const fs::path& path, const std::set<std::string>& names,
                                                  int64_t largest) {
  const std::string name = path.string();
  const auto wanted = [&](const std::string& entry) {
    const fs::path file(entry);
    return file.extension() == ".npy" && names.contains(file.stem().string()) && !file.has_parent_path()
               ? file.stem().string()
               : "";
  };
  const size_t bytes = static_cast<size_t>(largest) * sizeof(double) + kMaxHeader;
  std::map<std::string, io::NpyDoubles> arrays;
  for (const auto& [array, content] :
       io::read_archive(path, {io::ArchiveFormat::zip, bytes, "use an .npz file with mu and sigma", wanted}))
    arrays[array] = io::parse_npy(content, name + ": " + array);
  return arrays;
}

// Symmetric but for rounding, and no negative variances. What is neither is found where the root is taken.
void check_covariance(const std::vector<double>& sigma, int64_t d, const std::string& name) {
  double largest = 0;
  for (const double value : sigma) largest = std::max(largest, std::abs(value));
  const auto at = [&](int64_t i, int64_t j) { return sigma[static_cast<size_t>(i * d + j)]; };
  for (int64_t i = 0; i < d; ++i) {
    if (at(i, i) < 0)
      fail("use another file", "{}: sigma is no covariance: entry ({}, {}) is {:g}", name, i, i, at(i, i));
    for (int64_t j = 0; j < i; ++j)
      if (std::abs(at(i, j) - at(j, i)) > 1e-6 * largest)
        fail("use another file", "{}: sigma is not symmetric: ({}, {}) is {:g}, ({}, {}) is {:g}", name, i, j,
             at(i, j), j, i, at(j, i));
  }
}

}  // namespace

FeatureStatistics read_statistics(const fs::path& path) {
  const std::string name = path.string();
  std::error_code error;
  if (!fs::is_regular_file(path, error))
    fail("check the path", "{}: {}", name, fs::exists(path, error) ? "not a plain file" : "no such file");
  // mu first: it says how large sigma may be.
  auto arrays = read_arrays(path, {"mu", "n"}, kMaxDimensions);
  const auto missing = [&](const char* array) {
    fail("save mu and sigma with numpy.savez", "{}: holds no {}", name, array);
  };
  if (!arrays.contains("mu")) missing("mu");
  const auto d = static_cast<int64_t>(arrays["mu"].values.size());
  if (arrays["mu"].shape.size() != 1 || d < 1 || d > kMaxDimensions)
    fail(fmt::format("save mu (d) and sigma (d, d), with d at most {}", kMaxDimensions),
         "{}: mu has the shape ({})", name, fmt::join(arrays["mu"].shape, ", "));
  arrays.merge(read_arrays(path, {"sigma"}, d * d));
  if (!arrays.contains("sigma")) missing("sigma");
  if (arrays["sigma"].shape != std::vector<int64_t>{d, d})
    fail("save mu (d) and sigma (d, d)", "{}: mu has the shape ({}), sigma ({})", name,
         fmt::join(arrays["mu"].shape, ", "), fmt::join(arrays["sigma"].shape, ", "));
  for (const char* which : {"mu", "sigma"})
    for (const double value : arrays[which].values)
      if (!std::isfinite(value)) fail("use another file", "{}: {} holds the value {}", name, which, value);
  check_covariance(arrays["sigma"].values, d, name);
  FeatureStatistics found{0, std::move(arrays["mu"].values), std::move(arrays["sigma"].values)};
  if (arrays.contains("n") && arrays["n"].values.size() == 1 && arrays["n"].values[0] > 0 &&
      arrays["n"].values[0] < 1e15)
    found.n = static_cast<int64_t>(arrays["n"].values[0]);
  return found;
}

void write_statistics(const fs::path& path, const FeatureStatistics& statistics) {
  const int64_t d = statistics.dimensions();
  if (d > kMaxDimensions)
    fail(fmt::format("use features of at most {} dimensions", kMaxDimensions),
         "{}: features of {} dimensions are too many", path.string(), d);
  const double n[] = {static_cast<double>(statistics.n)};
  AtomicFile file(path);
  io::ZipWriter zip(file);
  const auto add = [&](const std::string& name, const std::string& bytes) {
    zip.add(name, std::as_bytes(std::span(bytes)));
  };
  add("mu.npy", io::npy_bytes({d}, statistics.mu));
  add("sigma.npy", io::npy_bytes({d, d}, statistics.sigma));
  add("n.npy", io::npy_bytes({1}, n));
  zip.finish();
  file.commit();
}

}  // namespace mdsm::eval

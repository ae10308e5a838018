// Statistics of features as .npz: a zip archive of .npy files, compressed or not.
#include <algorithm>
#include <cmath>
#include <optional>

#include "core/error.h"
#include "eval/quality.h"
#include "io/archive.h"
#include "io/npy.h"
#include "io/zip.h"

namespace mdsm::eval {
namespace {

constexpr int64_t kMaxDimensions = 4096;
constexpr size_t kMaxHeader = 1 << 17;  // of one array

constexpr const char* kHint = "save mu and sigma with numpy.savez";

// An array of at most `largest` values, or none. Value by value from the archive: a matrix lies in memory
// once.
std::optional<io::NpyDoubles> find_array(const fs::path& path, const std::string& array, int64_t largest) {
  io::ArchiveMembers members(path, io::ArchiveFormat::zip, kHint);
  do
    if (!members.next()) return std::nullopt;
  while (members.path() != array + ".npy");
  const uint64_t most = static_cast<uint64_t>(largest) + kMaxHeader / sizeof(double);
  if (members.size() > most * sizeof(double))
    fail(kHint, "{}: {} has {} bytes, {} values at most are expected", path.string(), array, members.size(),
         largest);
  io::MemberStream stream(members);
  io::NpyDoubles found = io::read_npy_doubles(stream, members.size(), most, path.string() + ": " + array);
  members.skip();  // to where the checksum is compared
  return found;
}

io::NpyDoubles read_array(const fs::path& path, const std::string& array, int64_t largest) {
  auto found = find_array(path, array, largest);
  if (!found) fail(kHint, "{}: holds no {}", path.string(), array);
  return std::move(*found);
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
  io::NpyDoubles mu = read_array(path, "mu", kMaxDimensions);
  const auto d = static_cast<int64_t>(mu.values.size());
  if (mu.shape.size() != 1 || d < 1 || d > kMaxDimensions)
    fail(fmt::format("save mu (d) and sigma (d, d), with d at most {}", kMaxDimensions),
         "{}: mu has the shape ({})", name, fmt::join(mu.shape, ", "));
  io::NpyDoubles sigma = read_array(path, "sigma", d * d);
  if (sigma.shape != std::vector<int64_t>{d, d})
    fail("save mu (d) and sigma (d, d)", "{}: mu has the shape ({}), sigma ({})", name,
         fmt::join(mu.shape, ", "), fmt::join(sigma.shape, ", "));
  const auto check_finite = [&](const io::NpyDoubles& array, const char* which) {
    for (const double value : array.values)
      if (!std::isfinite(value)) fail("use another file", "{}: {} holds the value {}", name, which, value);
  };
  check_finite(mu, "mu");
  check_finite(sigma, "sigma");
  check_covariance(sigma.values, d, name);
  FeatureStatistics found{0, std::move(mu.values), std::move(sigma.values)};
  const auto n = find_array(path, "n", 1);
  if (n && n->values.size() == 1 && n->values[0] > 0 && n->values[0] < 1e15)
    found.n = static_cast<int64_t>(n->values[0]);
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

#include "restore/kernel_file.h"

#include <charconv>
#include <cmath>

#include "core/error.h"
#include "image/image.h"
#include "io/npy.h"

namespace mdsm::restore {
namespace {

double number_in(const std::string& text, size_t first, const std::string& option) {
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [at, error] = std::from_chars(text.data() + first, end, value);
  if (error != std::errc() || at != end || !std::isfinite(value))
    fail_usage("write box:K or gaussian:S", "{}: '{}' has no number", option, text);
  return value;
}

Kernel kernel_in(const std::string& file) {
  if (fs::path(file).extension() != ".npy") {
    const image::Image image = image::to_grey(image::read_image(file));
    return {image.height, image.width, {image.pixels.begin(), image.pixels.end()}};
  }
  const io::NpyArray array = io::read_npy(file);
  if (array.shape.size() != 2)
    fail("save an array of rows x columns", "{}: a kernel has two dimensions, not {}", file,
         array.shape.size());
  Kernel kernel{array.shape[0], array.shape[1], {}};
  std::visit([&](const auto& values) { kernel.values.assign(values.begin(), values.end()); }, array.values);
  return kernel;
}

}  // namespace

Kernel read_kernel(const std::string& text, const std::string& option) {
  if (text.starts_with("gaussian:")) return gaussian_kernel(number_in(text, 9, option));
  if (text.starts_with("box:")) {
    const double size = number_in(text, 4, option);
    if (size != std::floor(size) || size < 1 || size > 1000)
      fail_usage("use an odd number of pixels", "{}: '{}' is no size", option, text);
    return box_kernel(static_cast<int64_t>(size));
  }
  Kernel kernel = kernel_in(text);
  if (find_non_finite(kernel.values) >= 0) fail("use another file", "{}: the kernel is not finite", text);
  double sum = 0;
  for (const float value : kernel.values) sum += value;
  if (!(std::abs(sum) > 1e-6))
    fail("use a kernel that keeps brightness", "{}: the kernel sums to {}", text, sum);
  for (float& value : kernel.values) value = static_cast<float>(value / sum);
  return kernel;
}

}  // namespace mdsm::restore

#include "report/live_view.h"

#include <algorithm>
#include <cmath>

#include "image/image.h"
#include "restore/denoise.h"

namespace mdsm::report {
namespace {
constexpr std::chrono::milliseconds kApart{200};
}

void LiveView::write(const char* name, ConstTensorView x) const {
  const auto columns = static_cast<int64_t>(std::ceil(std::sqrt(static_cast<double>(x.shape.n))));
  image::write_png(folder_ / name, image::grid(x, columns, scale_));
}

void LiveView::observe(const sample::StepReport& report, int64_t samples) {
  const auto now = std::chrono::steady_clock::now();
  if (now - written_ < kApart) return;
  written_ = now;
  const Shape shown = image_.with_n(std::min(samples, kShown));
  if (noisy_.shape() != shown) noisy_ = Tensor(shown), denoised_ = Tensor(shown);
  Tensor denoised(report.x.shape);
  restore::denoise_into(sigma0_, report.x, report.grad_x, denoised);
  for (size_t row = 0; row < report.index.size(); ++row) {
    const int64_t from = static_cast<int64_t>(row), to = report.index[row];
    if (to >= shown.n) continue;
    std::ranges::copy(report.x.image(from), noisy_.view().image(to).begin());
    std::ranges::copy(denoised.view().image(from), denoised_.view().image(to).begin());
  }
  write("live-noisy.png", noisy_);
  write("live-denoised.png", denoised_);
}

}  // namespace mdsm::report

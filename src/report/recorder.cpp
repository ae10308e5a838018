#include "report/recorder.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "plot/plot.h"
#include "restore/denoise.h"

namespace mdsm::report {
namespace {

constexpr float kNone = std::numeric_limits<float>::quiet_NaN();

struct Spread {
  double mean = kNone, low = kNone, high = kNone;
};

// Over the samples that were still moving, in their order, so that batches make no difference.
Spread spread(const std::vector<float>& table, int64_t points, int64_t point) {
  std::vector<double> values;
  for (size_t at = static_cast<size_t>(point); at < table.size(); at += static_cast<size_t>(points))
    if (!std::isnan(table[at])) values.push_back(table[at]);
  if (values.empty()) return {};
  double sum = 0;
  for (const double value : values) sum += value;
  const double mean = sum / static_cast<double>(values.size());
  std::ranges::sort(values);
  const auto quantile = [&](double q) {
    return values[static_cast<size_t>(std::lround(q * static_cast<double>(values.size() - 1)))];
  };
  return {mean, quantile(0.1), quantile(0.9)};
}

// Points up to the last one at which a sample was still moving.
int64_t used_points(const SampleSet& set) {
  int64_t used = 0;
  for (size_t at = 0; at < set.energy_trace.size(); ++at)
    if (!std::isnan(set.energy_trace[at])) used = std::max(used, static_cast<int64_t>(at) % set.points + 1);
  return used;
}

plot::PlotSeries spread_series(const SampleSet& set, const std::vector<float>& table, const char* colour) {
  plot::PlotSeries series;
  series.colour = colour;
  const int64_t used = used_points(set);
  for (int64_t point = 0; point < used; ++point) {
    const Spread at = spread(table, set.points, point);
    series.x.push_back(static_cast<double>(set.trace_steps[static_cast<size_t>(point)]));
    series.y.push_back(at.mean);
    series.low.push_back(at.low);
    series.high.push_back(at.high);
  }
  return series;
}

}  // namespace

void TraceRecorder::plan(int64_t steps) {
  stride_ = std::max<int64_t>(1, (steps + kPoints - 1) / kPoints);
  for (int64_t step = 0; step < steps; step += stride_) steps_.push_back(step);
  steps_.push_back(steps);
  temperature_.assign(steps_.size(), 0);
  energy_.assign(steps_.size() * static_cast<size_t>(samples_), kNone);
  sigma_ = energy_;
}

void TraceRecorder::observe(const sample::StepReport& report) {
  if (stride_ == 0) plan(report.steps);
  if (report.step % stride_ != 0 && report.step != report.steps) return;
  const size_t point =
      report.step == report.steps ? steps_.size() - 1 : static_cast<size_t>(report.step / stride_);
  temperature_[point] = report.temperature;
  const std::vector<float> levels = restore::noise_levels(sigma0_, report.grad_x);
  for (size_t row = 0; row < report.index.size(); ++row) {
    const size_t at = static_cast<size_t>(report.index[row]) * steps_.size() + point;
    energy_[at] = report.energy[row];
    sigma_[at] = levels[row];
  }
}

void TraceRecorder::store(SampleSet& set) const {
  set.points = static_cast<int64_t>(steps_.size());
  set.trace_steps = steps_;
  set.trace_temperature = temperature_;
  set.energy_trace = energy_;
  set.sigma_trace = sigma_;
}

bool Trajectory::wants(uint64_t seed) const { return std::ranges::find(seeds_, seed) != seeds_.end(); }

void Trajectory::observe(const sample::StepReport& report, std::span<const uint64_t> seeds) {
  const int64_t stride = std::max<int64_t>(1, report.steps / static_cast<int64_t>(kFrames));
  if (report.step % stride != 0) return;
  Tensor denoised;
  for (size_t row = 0; row < report.index.size(); ++row) {
    const uint64_t seed = seeds[static_cast<size_t>(report.index[row])];
    if (!wants(seed)) continue;
    if (denoised.shape().n == 0) {
      denoised = Tensor(report.x.shape);
      restore::denoise_into(sigma0_, report.x, report.grad_x, denoised);
    }
    const auto noisy = report.x.image(static_cast<int64_t>(row));
    const auto clean = denoised.view().image(static_cast<int64_t>(row));
    frames_[seed].push_back({{noisy.begin(), noisy.end()}, {clean.begin(), clean.end()}});
  }
}

void Trajectory::finish(uint64_t seed, std::span<const float> image) {
  const std::vector<float> values(image.begin(), image.end());
  frames_[seed].push_back({values, values});
}

const std::vector<Trajectory::Frame>& Trajectory::of(uint64_t seed) const {
  const auto found = frames_.find(seed);
  if (found == frames_.end() || found->second.empty())
    fail("draw it with --trajectory", "the way of seed {} was not recorded", seed);
  return found->second;
}

image::Image Trajectory::strips(int64_t columns, int64_t scale) const {
  const auto samples = static_cast<int64_t>(seeds_.size());
  Tensor sheet(image_.with_n(2 * samples * columns));
  for (int64_t i = 0; i < samples; ++i) {
    const auto& frames = of(seeds_[static_cast<size_t>(i)]);
    const auto last = static_cast<double>(frames.size() - 1);
    for (int64_t column = 0; column < columns; ++column) {
      const double part = columns > 1 ? static_cast<double>(column) / static_cast<double>(columns - 1) : 1;
      const Frame& frame = frames[static_cast<size_t>(std::lround(part * last))];
      std::ranges::copy(frame.noisy, sheet.view().image(2 * i * columns + column).begin());
      std::ranges::copy(frame.denoised, sheet.view().image((2 * i + 1) * columns + column).begin());
    }
  }
  return image::grid(sheet, columns, scale);
}

std::vector<image::Image> Trajectory::frames(int64_t scale) const {
  const auto samples = static_cast<int64_t>(seeds_.size());
  size_t count = 0;
  for (const uint64_t seed : seeds_) count = std::max(count, of(seed).size());
  std::vector<image::Image> out;
  for (size_t at = 0; at < count; ++at) {
    Tensor sheet(image_.with_n(2 * samples));
    for (int64_t i = 0; i < samples; ++i) {
      const auto& frames = of(seeds_[static_cast<size_t>(i)]);
      const Frame& frame = frames[std::min(at, frames.size() - 1)];
      std::ranges::copy(frame.noisy, sheet.view().image(i).begin());
      std::ranges::copy(frame.denoised, sheet.view().image(samples + i).begin());
    }
    out.push_back(image::grid(sheet, samples, scale));
  }
  return out;
}

std::string trace_plot(const SampleSet& set, const std::string& title) {
  plot::Plot plot{.title = title, .x_label = "step", .panels = {}};
  plot.panels.push_back({"energy", false, {spread_series(set, set.energy_trace, "#1f5fa8")}});
  const bool tempered = std::ranges::any_of(set.trace_temperature, [](double t) { return t > 0; });
  if (tempered) {
    plot::PlotSeries series;
    series.x.assign(set.trace_steps.begin(), set.trace_steps.end());
    series.y = set.trace_temperature;
    series.colour = "#b03a2e";
    plot.panels.push_back({"temperature", true, {series}});
  }
  plot.panels.push_back({"noise level", true, {spread_series(set, set.sigma_trace, "#2e7d4f")}});
  return plot::svg(plot);
}

int64_t last_step(const SampleSet& set) {
  const int64_t used = used_points(set);
  return used > 0 ? set.trace_steps[static_cast<size_t>(used - 1)] : -1;
}

}  // namespace mdsm::report

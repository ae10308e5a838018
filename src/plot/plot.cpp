#include "plot/plot.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "plot/svg_parts.h"

namespace mdsm::plot {
namespace {

constexpr double kWidth = 760, kPanelHeight = 210, kLeft = 86, kRight = 20, kTop = 40, kBottom = 48,
                 kGap = 22;
constexpr const char *kAxis = "#444", *kGrid = "#e3e3e3";

struct Range {
  double low = std::numeric_limits<double>::infinity(), high = -std::numeric_limits<double>::infinity();

  void add(double value) {
    if (!std::isfinite(value)) return;
    low = std::min(low, value);
    high = std::max(high, value);
  }
  // Never empty, so that positions can be computed.
  void widen(double share) {
    if (low > high) low = 0, high = 1;
    const double extra = high > low ? (high - low) * share : std::max(std::abs(high), 1.0) * 0.5;
    low -= extra;
    high += extra;
  }
};

// One axis: from values to positions on the page.
struct Axis {
  Range range;  // of the values, or of their logarithms
  bool log = false;
  double from = 0, to = 0;

  double scaled(double value) const {
    if (!log) return value;
    return value > 0 ? std::log10(value) : std::numeric_limits<double>::quiet_NaN();
  }
  double at(double value) const {
    return from + (scaled(value) - range.low) / (range.high - range.low) * (to - from);
  }
};

std::string tick_text(double value) { return std::abs(value) < 1e-12 ? "0" : fmt::format("{:.6g}", value); }

std::vector<double> ticks(const Axis& axis, int count) {
  if (!axis.log) return round_ticks(axis.range.low, axis.range.high, count);
  std::vector<double> values;
  const double low = std::ceil(axis.range.low), high = std::floor(axis.range.high);
  const double step = std::max(1.0, std::ceil((high - low) / count));
  for (double power = low; power <= high; power += step) values.push_back(std::pow(10.0, power));
  if (values.size() > 3) return values;
  if (values.size() >= 2) {  // few decades: 2 and 5 of each as well
    values.clear();
    for (double power = low - 1; power <= high; ++power)
      for (const double digit : {1.0, 2.0, 5.0}) {
        const double value = digit * std::pow(10.0, power);
        if (axis.scaled(value) >= axis.range.low && axis.scaled(value) <= axis.range.high)
          values.push_back(value);
      }
    return values;
  }
  values.clear();  // less than two decades: round numbers of the values themselves
  for (const double v : round_ticks(std::pow(10.0, axis.range.low), std::pow(10.0, axis.range.high), count))
    if (v > 0) values.push_back(v);
  return values;
}

// Pieces between points that cannot be drawn.
std::string path_of(const PlotSeries& series, const Axis& x, const Axis& y) {
  std::string data;
  bool drawing = false;
  for (size_t i = 0; i < std::min(series.x.size(), series.y.size()); ++i) {
    const double px = x.at(series.x[i]), py = y.at(series.y[i]);
    const bool good = std::isfinite(px) && std::isfinite(py);
    if (good) data += fmt::format("{}{:.1f} {:.1f}", drawing ? " L" : data.empty() ? "M" : " M", px, py);
    drawing = good;
  }
  if (data.empty()) return "";
  return fmt::format(R"(<path d="{}" fill="none" stroke="{}" stroke-width="1.6"/>)", data, series.colour) +
         "\n";
}

std::string band_of(const PlotSeries& series, const Axis& x, const Axis& y) {
  if (series.low.empty() || series.low.size() != series.high.size()) return "";
  std::string there, back;
  for (size_t i = 0; i < std::min(series.x.size(), series.low.size()); ++i) {
    const double px = x.at(series.x[i]), low = y.at(series.low[i]), high = y.at(series.high[i]);
    if (!std::isfinite(px + low + high)) continue;
    there += fmt::format("{}{:.1f} {:.1f}", there.empty() ? "M" : " L", px, high);
    back = fmt::format(" L{:.1f} {:.1f}", px, low) + back;
  }
  if (there.empty()) return "";
  return fmt::format(R"(<path d="{}{} Z" fill="{}" fill-opacity="0.16"/>)", there, back, series.colour) +
         "\n";
}

Axis y_axis(const PlotPanel& panel, double top) {
  Axis axis{.range = {}, .log = panel.log_y, .from = top + kPanelHeight, .to = top};
  for (const PlotSeries& series : panel.series)
    for (const auto* values : {&series.y, &series.low, &series.high})
      for (const double value : *values) axis.range.add(axis.scaled(value));
  axis.range.widen(0.05);
  return axis;
}

std::string panel_text(const PlotPanel& panel, const Axis& x, double top, bool last) {
  const Axis y = y_axis(panel, top);
  std::string out;
  for (const double value : ticks(y, 5)) {
    out += line(kLeft, y.at(value), kWidth - kRight, y.at(value), kGrid);
    out += text_at(kLeft - 7, y.at(value) + 4, "end", tick_text(value));
  }
  for (const double value : ticks(x, 8)) {
    out += line(x.at(value), top, x.at(value), top + kPanelHeight, kGrid);
    if (last) out += text_at(x.at(value), top + kPanelHeight + 17, "middle", tick_text(value));
  }
  const bool left = panel.legend == Corner::upper_left;
  const auto labelled = std::count_if(panel.series.begin(), panel.series.end(),
                                      [](const PlotSeries& series) { return !series.label.empty(); });
  double legend = panel.legend == Corner::lower_right
                      ? top + kPanelHeight + 6 - 16 * static_cast<double>(labelled)
                      : top + 16;
  for (const PlotSeries& series : panel.series) out += band_of(series, x, y) + path_of(series, x, y);
  for (const PlotSeries& series : panel.series) {  // over all lines, and readable where one passes below
    if (series.label.empty()) continue;
    const std::string fill = fmt::format(
        R"( fill="{}" stroke="#fff" stroke-width="4" stroke-linejoin="round" paint-order="stroke")",
        series.colour);
    out +=
        text_at(left ? kLeft + 8 : kWidth - kRight - 8, legend, left ? "start" : "end", series.label, fill);
    legend += 16;
  }
  out += fmt::format(R"(<rect x="{}" y="{}" width="{}" height="{}" fill="none" stroke="{}"/>)", kLeft, top,
                     kWidth - kLeft - kRight, kPanelHeight, kAxis) +
         "\n";
  const double middle = top + kPanelHeight / 2;
  const std::string turn = fmt::format(" transform=\"rotate(-90 18 {:.1f})\"", middle);
  return out + text_at(18, middle, "middle", panel.y_label, turn);
}

}  // namespace

std::vector<double> round_ticks(double low, double high, int count) {
  std::vector<double> values;
  if (!(high > low) || !std::isfinite(high - low) || count < 1) return values;
  const double rough = (high - low) / count, power = std::pow(10.0, std::floor(std::log10(rough)));
  double step = 10 * power;
  for (const double factor : {5.0, 2.0, 1.0})
    if (factor * power >= rough * 0.999) step = factor * power;
  // Counted by whole numbers: adding steps up would drift.
  const double first = std::ceil(low / step - 1e-9), last = std::floor(high / step + 1e-9);
  for (double k = first; k <= last && values.size() < 100; ++k) values.push_back(k * step);
  return values;
}

void thin(PlotSeries& series, size_t points) {
  const size_t size = series.y.size(), group = std::max<size_t>(1, size / points);
  size_t kept = 0;
  for (size_t first = 0; first < size; first += group, ++kept) {
    const size_t last = std::min(size, first + group);
    double x = 0, y = 0;
    for (size_t i = first; i < last; ++i) x += series.x[i], y += series.y[i];
    series.x[kept] = x / static_cast<double>(last - first);
    series.y[kept] = y / static_cast<double>(last - first);
  }
  series.x.resize(kept);
  series.y.resize(kept);
}

std::string svg(const Plot& plot) {
  const double height =
      kTop + static_cast<double>(plot.panels.size()) * (kPanelHeight + kGap) - kGap + kBottom;
  Axis x{.range = {}, .log = plot.log_x, .from = kLeft, .to = kWidth - kRight};
  for (const PlotPanel& panel : plot.panels)
    for (const PlotSeries& series : panel.series)
      for (const double value : series.x) x.range.add(x.scaled(value));
  x.range.widen(0.01);

  std::string out = text_at(kWidth / 2, 24, "middle", plot.title, " font-size=\"15\"");
  double top = kTop;
  for (size_t i = 0; i < plot.panels.size(); ++i, top += kPanelHeight + kGap)
    out += panel_text(plot.panels[i], x, top, i + 1 == plot.panels.size());
  out += text_at((kLeft + kWidth - kRight) / 2, height - 12, "middle", plot.x_label);
  return page(kWidth, height, out);
}

}  // namespace mdsm::plot

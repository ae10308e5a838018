// Line plots as SVG text: one or more panels above each other that share the x axis. Plain data in, text out;
// what the numbers mean is the caller's business.
#pragma once

#include <string>
#include <vector>

namespace mdsm::plot {

// Points that are not finite, or not above 0 on a logarithmic axis, interrupt the line.
struct PlotSeries {
  std::string label;  // empty: not in the legend
  std::vector<double> x, y;
  std::string colour = "#1f5fa8";
  std::vector<double> low, high;  // a shaded band around the line; both empty, or as many as y
};

enum class Corner { upper_right, upper_left, lower_right };

struct PlotPanel {
  std::string y_label;
  bool log_y = false;
  std::vector<PlotSeries> series;
  Corner legend = Corner::upper_right;
};

struct Plot {
  std::string title, x_label;
  std::vector<PlotPanel> panels;
  bool log_x = false;
};

std::string svg(const Plot& plot);

// Means over neighbouring points, so that a line of very many stays a small picture: between `points` and
// twice as many are left. For lines without a band.
void thin(PlotSeries& series, size_t points);

// Round numbers (1, 2 or 5 times a power of ten apart) inside [low, high], about `count` of them.
std::vector<double> round_ticks(double low, double high, int count);

}  // namespace mdsm::plot

#include "report/network_drawing.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "plot/svg_parts.h"
#include "report/network_layout.h"

namespace mdsm::report {
namespace {

using Kind = LayoutNode::Kind;
using plot::text_at;

constexpr int kFont = 10;
constexpr double kCharacter = 6.2;  // width of one at most, on average
constexpr double kBox = 30, kSmall = 14, kGap = 20, kLaneGap = 10, kTrack = 7, kRowGap = 16;
constexpr double kLeft = 76, kAbove = 40, kRight = 16, kLegend = 44;
constexpr const char *kLine = "#556", *kBand = "#f4f6f9";

// What small nodes mean, in the order of the legend.
constexpr std::pair<Kind, const char*> kMeanings[] = {{Kind::pool, "mean of 2x2 pixels"},
                                                      {Kind::upsample, "every pixel as 2x2"},
                                                      {Kind::add, "sum"},
                                                      {Kind::concatenate, "channels side by side"},
                                                      {Kind::activation, "activation"}};

size_t characters(const std::string& text) {  // UTF-8
  return static_cast<size_t>(std::ranges::count_if(text, [](char c) { return (c & 0xC0) != 0x80; }));
}

std::string symbol(Kind kind, double x, double y) {
  constexpr double r = kSmall / 2;
  if (kind == Kind::pool || kind == Kind::upsample) {
    const double tip = kind == Kind::pool ? r : -r;
    return fmt::format(R"(<path d="M{:.1f} {:.1f} h{:.1f} L{:.1f} {:.1f} Z" fill="#d99a3c"/>)", x - r,
                       y - tip, 2 * r, x, y + tip) +
           "\n";
  }
  std::string out =
      fmt::format(R"(<circle cx="{:.1f}" cy="{:.1f}" r="{:.1f}" fill="#fff" stroke="#222"/>)", x, y, r) +
      "\n";
  if (kind == Kind::add)
    out += plot::line(x - r, y, x + r, y, "#222") + plot::line(x, y - r, x, y + r, "#222");
  if (kind == Kind::concatenate)
    out += plot::line(x - 2, y - 4, x - 2, y + 4, "#222") + plot::line(x + 2, y - 4, x + 2, y + 4, "#222");
  if (kind == Kind::activation)
    out += fmt::format(R"(<path d="M{:.1f} {:.1f} h4 l4 -6" fill="none" stroke="#222"/>)", x - 4, y + 3);
  return out;
}

class Drawing {
 public:
  Drawing(const network::Graph& graph, const Shape& image) : image_(image), layout_(layout_of(graph)) {
    size_t longest = 0;
    for (const LayoutNode& node : layout_.nodes)
      longest = std::max({longest, characters(node.name), characters(node.what)});
    box_height_ = kCharacter * static_cast<double>(longest) + 12;
    place_columns();
    place_rows();
  }

  std::string text(const std::string& title) {
    std::string body = text_at(kLeft, 24, "start", title, " font-size=\"14\"");
    for (size_t row = 0; row < rows_.size(); ++row) body += band(row);
    for (const LayoutEdge& edge : layout_.edges) body += path(edge);
    for (const LayoutNode& node : layout_.nodes) body += shape(node);
    const double wide = legend(body);
    return plot::page(std::ceil(std::max({wide, width_, kLeft + 8.0 * static_cast<double>(title.size())})),
                      std::ceil(height_ + kLegend), body, kFont);
  }

 private:
  struct Column {
    double left = 0, right = 0;
    int lines = 0;  // vertical ones drawn in the gap before it
  };
  struct Row {
    double top = 0, boxes = 0, bottom = 0;  // boxes: where the first lane starts
  };

  void place_columns() {
    columns_.resize(static_cast<size_t>(layout_.columns));
    for (const LayoutNode& node : layout_.nodes) {
      Column& column = columns_[static_cast<size_t>(node.column)];
      column.right = std::max(column.right, node.small() ? kSmall : kBox);
    }
    double x = kLeft;
    for (Column& column : columns_) {
      column.left = x;
      column.right += x;
      x = column.right + kGap;
    }
    width_ = x - kGap + kRight;
  }

  void place_rows() {
    double y = kAbove;
    for (size_t i = 0; i < layout_.lanes.size(); ++i) {
      Row row{y, y + kTrack * static_cast<double>(layout_.tracks[i] + 1), 0};
      const auto lanes = static_cast<double>(std::max<int64_t>(1, layout_.lanes[i]));
      row.bottom = row.boxes + lanes * box_height_ + (lanes - 1) * kLaneGap + kTrack;
      rows_.push_back(row);
      y = row.bottom + kRowGap;
    }
    height_ = y;
  }

  double middle(const LayoutNode& node) const {
    return rows_[static_cast<size_t>(node.row)].boxes +
           static_cast<double>(node.lane) * (box_height_ + kLaneGap) + box_height_ / 2;
  }
  double centre(const LayoutNode& node) const {
    const Column& column = columns_[static_cast<size_t>(node.column)];
    return (column.left + column.right) / 2;
  }
  static double half(const LayoutNode& node) { return (node.small() ? kSmall : kBox) / 2; }
  // Where a vertical line runs in the gap before a column; lines of one gap stand apart.
  double in_gap(int64_t column) {
    Column& before = columns_[static_cast<size_t>(column)];
    return before.left - kGap + 4 + 4 * (before.lines++ % 3);
  }

  std::string band(size_t row) const {
    const Row& r = rows_[row];
    return fmt::format(R"(<rect x="8" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="4" fill="{}"/>)", r.top,
                       width_ - 16, r.bottom - r.top, kBand) +
           "\n" +
           text_at(18, (r.top + r.bottom) / 2, "start",
                   fmt::format("{}x{}", image_.w >> row, image_.h >> row), " font-size=\"12\"");
  }

  std::string path(const LayoutEdge& edge) {
    const LayoutNode &from = layout_.nodes[static_cast<size_t>(edge.from)],
                     &to = layout_.nodes[static_cast<size_t>(edge.to)];
    const double x = centre(from) + half(from), y = middle(from), end = centre(to) - half(to);
    std::string way = fmt::format("M{:.1f} {:.1f}", x, y);
    if (edge.track >= 0) {
      const Row& row = rows_[static_cast<size_t>(to.row)];
      way += fmt::format(" H{:.1f} V{:.1f}", in_gap(from.column + 1),
                         row.boxes - kTrack * (static_cast<double>(edge.track) + 0.8));
    }
    if (edge.track >= 0 || middle(to) != y)
      way += fmt::format(" H{:.1f} V{:.1f}", in_gap(to.column), middle(to));
    return fmt::format(R"(<path d="{} H{:.1f}" fill="none" stroke="{}"/>)", way, end, kLine) + "\n";
  }

  std::string shape(const LayoutNode& node) const {
    const double x = centre(node), y = middle(node);
    if (node.small()) return symbol(node.kind, x, y);
    const char* fill = node.kind == Kind::convolution ? "#d7e6f7" : "#e2f0dd";
    const auto turned = [&](double at, const std::string& text, const char* more) {
      return text_at(at, y, "middle", text,
                     fmt::format(R"x( transform="rotate(-90 {:.1f} {:.1f})"{})x", at, y, more));
    };
    return fmt::format(
               R"(<rect x="{:.1f}" y="{:.1f}" width="{:.1f}" height="{:.1f}" rx="3" fill="{}" stroke="{}"/>)",
               x - kBox / 2, y - box_height_ / 2, kBox, box_height_, fill, kLine) +
           "\n" + turned(x - 2.5, node.name, "") + turned(x + 10.5, node.what, R"( fill="#456")");
  }

  // Gives the width that it takes.
  double legend(std::string& body) const {
    double x = kLeft;
    for (const auto& [kind, meaning] : kMeanings) {
      if (std::ranges::find(layout_.nodes, kind, &LayoutNode::kind) == layout_.nodes.end()) continue;
      body += symbol(kind, x + kSmall / 2, height_ + 14);
      body += text_at(x + kSmall + 6, height_ + 18, "start", meaning);
      x += kSmall + 30 + kCharacter * static_cast<double>(std::string(meaning).size());
    }
    return x;
  }

  Shape image_;
  NetworkLayout layout_;
  double box_height_ = 0, width_ = 0, height_ = 0;
  std::vector<Column> columns_;
  std::vector<Row> rows_;
};

}  // namespace

std::string network_drawing(const network::Graph& graph, const Shape& image, const std::string& title) {
  return Drawing(graph, image).text(title);
}

}  // namespace mdsm::report

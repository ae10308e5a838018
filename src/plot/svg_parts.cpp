#include "plot/svg_parts.h"

#include <fmt/format.h>

#include "core/markup.h"

namespace mdsm::plot {

std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const std::string& more) {
  return fmt::format(R"(<text x="{:.1f}" y="{:.1f}" text-anchor="{}"{}>{}</text>)", x, y, anchor, more,
                     escape_markup(text)) +
         "\n";
}

std::string line(double x1, double y1, double x2, double y2, const char* colour) {
  return fmt::format(R"(<line x1="{:.1f}" y1="{:.1f}" x2="{:.1f}" y2="{:.1f}" stroke="{}"/>)", x1, y1, x2, y2,
                     colour) +
         "\n";
}

std::string page(double width, double height, const std::string& body, int font_size) {
  return fmt::format(
             R"(<svg xmlns="http://www.w3.org/2000/svg" width="{0}" height="{1}" viewBox="0 0 {0} {1}" font-family="sans-serif" font-size="{2}" fill="#222">)"
             "\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
             width, height, font_size) +
         body + "</svg>\n";
}

}  // namespace mdsm::plot

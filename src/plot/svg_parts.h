// Pieces of SVG that plots and drawings share.
#pragma once

#include <string>

namespace mdsm::plot {

// anchor: start, middle or end. more: further attributes, with a space before them.
std::string text_at(double x, double y, const char* anchor, const std::string& text,
                    const std::string& more = "");
std::string line(double x1, double y1, double x2, double y2, const char* colour);
// A whole picture on white; body: what is drawn on it.
std::string page(double width, double height, const std::string& body, int font_size = 12);

}  // namespace mdsm::plot

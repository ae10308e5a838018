#include "report/neighbour_figure.h"

#include <fmt/format.h>

#include <algorithm>

#include "core/base64.h"

namespace mdsm::report {
namespace {

constexpr int64_t kTop = 20;  // for the headings

std::string text_at(int64_t x, int64_t y, const std::string& text) {
  return fmt::format("<text x=\"{}\" y=\"{}\" text-anchor=\"middle\">{}</text>\n", x, y, text);
}

}  // namespace

NeighbourGrid neighbour_grid(const data::Dataset& samples, const data::Dataset& training,
                             const eval::Neighbours& found, int64_t rows) {
  rows = std::min(rows, samples.size());
  NeighbourGrid grid{Tensor(training.image_shape().with_n(rows * (1 + found.k))), {}};
  int64_t place = 0;
  for (int64_t row = 0; row < rows; ++row) {
    samples.read(row, grid.images.view().image(place++));
    for (int64_t rank = 0; rank < found.k; ++rank) {
      training.read(found.of(row, rank).index, grid.images.view().image(place++));
      grid.distances.push_back(found.of(row, rank).distance);
    }
  }
  return grid;
}

std::string neighbour_figure(std::span<const std::byte> png, const FigureCell& cell,
                             std::span<const double> distances, int64_t k) {
  const int64_t rows = static_cast<int64_t>(distances.size()) / k, across = cell.width + kFigureGap;
  const int64_t down = cell.height + kFigureGap;
  const int64_t width = (1 + k) * across - kFigureGap, height = rows * down - kFigureGap;
  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"{0}\" height=\"{1}\" viewBox=\"0 0 {0} {1}\" "
      "font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      width, kTop + height + kFigureGap);
  out +=
      fmt::format("<image x=\"0\" y=\"{}\" width=\"{}\" height=\"{}\" href=\"data:image/png;base64,{}\"/>\n",
                  kTop, width, height, base64(png));
  out += text_at(cell.width / 2, kTop - 6, "sample");
  for (int64_t rank = 0; rank < k; ++rank)
    out += text_at((1 + rank) * across + cell.width / 2, kTop - 6, fmt::format("{}", rank + 1));
  for (int64_t row = 0; row < rows; ++row)
    for (int64_t rank = 0; rank < k; ++rank)
      out += text_at((1 + rank) * across + cell.width / 2, kTop + row * down + cell.height + 12,
                     fmt::format("{:.2f}", distances[static_cast<size_t>(row * k + rank)]));
  return out + "</svg>\n";
}

}  // namespace mdsm::report

// The picture of `mdsm neighbours`: each sample beside its nearest training images, distances written below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace mdsm::report {

constexpr int64_t kFigureGap = 16;  // between the images of the grid: room for the text

struct FigureCell {
  int64_t width = 0, height = 0;  // of one image of the grid, in pixels
};

// png: a grid of rows of 1 + k images, kFigureGap apart: sample, then its neighbours. distances: (rows x k).
// SVG text with the PNG inside it.
std::string neighbour_figure(std::span<const std::byte> png, const FigureCell& cell,
                             std::span<const double> distances, int64_t k);

}  // namespace mdsm::report

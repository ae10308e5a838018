// The picture of `mdsm neighbours`: each sample beside its nearest training images, distances written below.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

#include "eval/neighbours.h"

namespace mdsm::report {

constexpr int64_t kFigureGap = 16;  // between the images of the grid: room for the text

struct NeighbourGrid {
  Tensor images;                  // (rows x (1 + k),C,H,W): sample, then its neighbours
  std::vector<double> distances;  // (rows x k)
};
// The first samples; at most so many rows. found: of the samples, in the data set `training`.
NeighbourGrid neighbour_grid(const data::Dataset& samples, const data::Dataset& training,
                             const eval::Neighbours& found, int64_t rows);

struct FigureCell {
  int64_t width = 0, height = 0;  // of one image of the grid, in pixels
};

// png: the images of the grid in rows of 1 + k, kFigureGap apart. distances: (rows x k).
// SVG text with the PNG inside it.
std::string neighbour_figure(std::span<const std::byte> png, const FigureCell& cell,
                             std::span<const double> distances, int64_t k);

}  // namespace mdsm::report

// The k nearest images of a data set, exactly: distances from blocked matrix products in float, then the best
// again in double. A bound on the rounding of the products says when that is safe; where it is not, the image
// is searched again in double.
#pragma once

#include <functional>
#include <vector>

#include "data/dataset.h"

namespace mdsm::eval {

struct Neighbour {
  int64_t index = 0;    // in the data set
  double distance = 0;  // ‖a - b‖, pixels in [0,1]
};

struct Neighbours {
  int64_t k = 0;
  std::vector<Neighbour> list;     // (N x k), nearest first; equal distances by index
  int64_t searched_in_double = 0;  // images whose order rounding left open

  const Neighbour& of(int64_t image, int64_t rank) const {
    return list[static_cast<size_t>(image * k + rank)];
  }
};

// images: (N,C,H,W) of the shape of the data. k is at most the size of the data. done: images of the data set
// seen so far; called from several threads, may be empty.
Neighbours nearest_neighbours(const data::Dataset& data, ConstTensorView images, int64_t k,
                              const std::function<void(int64_t)>& done = {});

// The images of these sets one after the other, (N,C,H,W); null pointers are passed over. All of one shape.
Tensor all_images(std::initializer_list<const data::Dataset*> sets);

// How near samples come to the training set, against held-out images, which the model has not seen either.
struct Memorisation {
  int64_t samples = 0, held_out = 0;
  double sample_mean = 0, sample_error = 0;      // nearest distance of samples: mean and its standard error
  double held_out_mean = 0, held_out_error = 0;  // of held-out images
  double quantile = 0, threshold = 0;            // that share of held-out images is nearer than the threshold
  double share = 0, share_error = 0;             // share of samples that are; its binomial standard error

  bool meaningful() const { return threshold > 0; }  // nothing is nearer than 0
};
Memorisation memorisation(std::span<const double> samples, std::span<const double> held_out, double quantile);

// Nearest distances, (N).
std::vector<double> nearest_distances(const Neighbours& found, int64_t first, int64_t count);

}  // namespace mdsm::eval

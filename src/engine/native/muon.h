// The update of Muon (Jordan and others, 2024) for one weight matrix: the momentum's directions, all of about
// the same size. docs/training.md says when to use it.
#pragma once

#include <cstdint>

namespace mdsm::engine::native {

struct MuonNumbers {
  float lr = 0, beta = 0, gradient_scale = 1, ema = 0;
};

// In place of u (rows x columns): a matrix with the singular vectors of u and singular values near 1 (0.7 to
// 1.2), by Newton and Schulz's iteration. On the calling thread.
void orthogonalise(int64_t rows, int64_t columns, float* u);

// One update of the weights (rows x columns), their momentum m and their average. On the calling thread.
void muon(const MuonNumbers& numbers, int64_t rows, int64_t columns, const float* gradient, float* weights,
          float* m, float* ema);

}  // namespace mdsm::engine::native

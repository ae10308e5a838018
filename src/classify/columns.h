// The pieces of a 3x3 convolution as a matrix product, and 2x2 pooling, for one image. Internal to
// src/classify.
#pragma once

#include <cstdint>

namespace mdsm::classify {

// columns (c*9, h*w) from x (c,h,w): row (c,ky,kx) holds the pixel that the kernel's tap sees; 0 outside.
void unfold(const float* x, int64_t c, int64_t h, int64_t w, float* columns);
// The transpose of unfold: sums the columns to x, which is overwritten.
void fold(const float* columns, int64_t c, int64_t h, int64_t w, float* x);

// out (c,h/2,w/2): the largest of 2x2; an odd last row or column is left out.
void pool(const float* x, int64_t c, int64_t h, int64_t w, float* out);
// d_x (c,h,w) gets d_out where x was the first of the largest, 0 elsewhere.
void pool_back(const float* x, const float* d_out, int64_t c, int64_t h, int64_t w, float* d_x);

}  // namespace mdsm::classify

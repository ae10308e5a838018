// Dense matrix products in float and double, row-major, by own kernels chosen at run time for the CPU. The
// sum over k always runs in the same order, so the number of threads makes no difference to the result.
#pragma once

#include <cstdint>

namespace mdsm::linalg {

enum class Op { plain, transposed };

// One factor: element (i, j) of the matrix as it enters the product is data[i * stride + j], or
// data[j * stride + i] where it is transposed.
template <class T>
struct Factor {
  const T* data = nullptr;
  int64_t stride = 0;
  Op op = Op::plain;
};

// c (m x n) = a (m x k) * b (k x n), or += with accumulate. On the calling thread.
void multiply(int64_t m, int64_t n, int64_t k, const Factor<float>& a, const Factor<float>& b, float* c,
              int64_t c_stride, bool accumulate = false);
void multiply(int64_t m, int64_t n, int64_t k, const Factor<double>& a, const Factor<double>& b, double* c,
              int64_t c_stride, bool accumulate = false);

// The same, the rows of c shared among the threads.
void parallel_multiply(int64_t m, int64_t n, int64_t k, const Factor<float>& a, const Factor<float>& b,
                       float* c, int64_t c_stride, bool accumulate = false);
void parallel_multiply(int64_t m, int64_t n, int64_t k, const Factor<double>& a, const Factor<double>& b,
                       double* c, int64_t c_stride, bool accumulate = false);

}  // namespace mdsm::linalg

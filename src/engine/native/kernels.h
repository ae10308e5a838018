// Own kernels of the native engine: everything that is not a oneDNN convolution. Each is compiled for several
// instruction sets; kernels() picks the best one this CPU has (MDSM_ISA=generic|avx2|avx512 forces one).
//
// Feature maps are channel-blocked: n, C/block, H, W, block. Element-wise kernels work on any range of such
// memory. ELU' and ELU'' come from the ELU's output y alone: for y > 0 they are 1 and 0, otherwise both are y
// + 1.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "engine/native/winograd_kernels.h"

namespace mdsm::engine::native {

struct AdamNumbers {
  float lr, beta1, beta2, epsilon, gradient_scale, ema;
  float correction1, correction2;  // 1/(1-beta1^t), 1/(1-beta2^t)
};

// One image of the first convolution (3x3, pad 1) between plain input planes and blocked feature maps.
struct InputConvolution {
  int64_t channels;  // of the image
  int64_t out;       // of the feature map, a multiple of block
  int64_t size;      // pixels along each side
  int64_t block;
  const float* weights;  // out/block, channels, 3, 3, block
};

struct Kernels {
  const char* isa;
  int64_t widest_block;  // 8, or 16 where a register holds as many floats

  // The epilogue of a convolution whose raw results are in planes first .. last-1 of the map.
  void (*finish)(const Epilogue& epilogue, const MapShape& shape, int64_t first, int64_t last, float* map);

  // 2x2 mean of `planes` blocked planes of size x size pixels.
  void (*pool)(const float* in, float* out, int64_t planes, int64_t size, int64_t block);

  // sum[c] = sum over pixels of one image's blocked plane
  void (*plane_sum)(const float* in, float* sum, int64_t pixels, int64_t block);

  // Image number `image` of map = epilogue(conv(x)), whose op must be none. x: (channels, size + 2, size +
  // 2), with a border of zeros.
  void (*input_forward)(const InputConvolution& conv, const float* x, int64_t image, const Epilogue& epilogue,
                        float* map);
  // dx = conv^T(dy), without a border
  void (*input_backward)(const InputConvolution& conv, const float* dy, float* dx);
  // dw (out/block, channels, 3, 3, block) += wgrad(x, dy); x with its border
  void (*input_weights)(const InputConvolution& conv, const float* x, const float* dy, float* dw);

  void (*adam)(const AdamNumbers& numbers, const float* gradient, float* weights, float* m, float* v,
               float* ema, int64_t count);
  double (*sum_of_squares)(const float* x, int64_t count);

  const WinogradKernels* winograd;
};

const Kernels& kernels();
std::vector<const Kernels*> kernel_variants();  // all that this CPU can run, the plain one first

}  // namespace mdsm::engine::native

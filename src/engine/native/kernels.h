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

#include "engine/native/tile_kernels.h"
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
  int64_t height, width, block;
  const float* weights;  // out/block, channels, 3, 3, block
};

// Kernels on maps stored as Value, float or Bfloat16; what is plain (images, weights, sums) is float.
template <class Value>
struct MapKernels {
  // The epilogue of a convolution whose raw results are in planes first .. last-1 of the map.
  void (*finish)(const EpilogueOf<Value>& epilogue, const MapShape& shape, int64_t first, int64_t last,
                 Value* map);

  // Planes first .. last-1 (image by image) of maps between the size of `shape` and half of it. `shape` and
  // its planes are those of the larger map, `half_planes` (0: as many as there are) those of the smaller one.
  // half = 2x2 means of map, or with `sums` their sums, the transpose of upsample
  void (*pool)(const MapShape& shape, int64_t first, int64_t last, const Value* map, int64_t half_planes,
               Value* half, bool sums);
  // map = every pixel of half as 2x2
  void (*upsample)(const MapShape& shape, int64_t first, int64_t last, const Value* half, int64_t half_planes,
                   Value* map);
  // map = in, or map += in; in has its own planes of an image. With `unpooled` it has half the size and each
  // value counts a quarter for each of 2x2 pixels: the transpose of pool.
  void (*gather)(const MapShape& shape, int64_t first, int64_t last, MapInOf<Value> in, bool unpooled,
                 bool add, Value* map);

  // sum[c] = sum over pixels of one image's blocked plane
  void (*plane_sum)(const Value* in, float* sum, int64_t pixels, int64_t block);

  // Image number `image` of map = epilogue(conv(x)), whose op must be none. x: (channels, height + 2,
  // width + 2), with a border of zeros; up to three floats behind the last image are read.
  void (*input_forward)(const InputConvolution& conv, const float* x, int64_t image,
                        const EpilogueOf<Value>& epilogue, Value* map);
  // dx = conv^T(dy), without a border
  void (*input_backward)(const InputConvolution& conv, const Value* dy, float* dx);
  // dw (out/block, channels, 3, 3, block) += wgrad(x, dy); x with its border
  void (*input_weights)(const InputConvolution& conv, const float* x, const Value* dy, float* dw);
};

struct Kernels {
  const char* isa;
  int64_t widest_block;  // 8, or 16 where a register holds as many floats

  MapKernels<float> floats;
  MapKernels<Bfloat16> halves;
  template <class Value>
  const MapKernels<Value>& maps() const {
    if constexpr (sizeof(Value) == sizeof(float))
      return floats;
    else
      return halves;
  }

  // The epilogue of rows first .. last-1 of one image, whose raw results are the rows of `raw`, a pixel each.
  void (*finish_rows)(const Epilogue& epilogue, const MapShape& shape, int64_t image, int64_t first,
                      int64_t last, Panels raw, float* map);

  void (*adam)(const AdamNumbers& numbers, const float* gradient, float* weights, float* m, float* v,
               float* ema, int64_t count);
  double (*sum_of_squares)(const float* x, int64_t count);
  // Values of maps as floats, and rounded back; count is a multiple of 16.
  void (*widen)(const Bfloat16* from, float* to, int64_t count);
  void (*narrow)(const float* from, Bfloat16* to, int64_t count);

  const WinogradKernels* winograd;
  const TileKernels *emulated_tiles, *vector_tiles, *matrix_tiles;  // null where they were not compiled
};

const Kernels& kernels();
std::vector<const Kernels*> kernel_variants();  // all that this CPU can run, the plain one first

}  // namespace mdsm::engine::native

// Float32 images and feature maps at the seams: shape N,C,H,W, row-major, no strides.
// Tensor owns 64-byte aligned memory; TensorView and ConstTensorView only point at somebody else's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace mdsm {

struct Shape {
  int64_t n = 0, c = 0, h = 0, w = 0;

  int64_t per_image() const { return c * h * w; }
  int64_t count() const { return n * per_image(); }
  Shape with_n(int64_t images) const { return {images, c, h, w}; }
  std::string text() const;  // "128x1x32x32"
  bool operator==(const Shape&) const = default;
};

struct ConstTensorView {
  const float* data = nullptr;
  Shape shape;

  std::span<const float> values() const { return {data, static_cast<size_t>(shape.count())}; }
  std::span<const float> image(int64_t i) const {
    return {data + i * shape.per_image(), static_cast<size_t>(shape.per_image())};
  }
  ConstTensorView images(int64_t first, int64_t count) const {
    return {data + first * shape.per_image(), shape.with_n(count)};
  }
};

struct TensorView {
  float* data = nullptr;
  Shape shape;

  std::span<float> values() const { return {data, static_cast<size_t>(shape.count())}; }
  std::span<float> image(int64_t i) const {
    return {data + i * shape.per_image(), static_cast<size_t>(shape.per_image())};
  }
  TensorView images(int64_t first, int64_t count) const {
    return {data + first * shape.per_image(), shape.with_n(count)};
  }
  operator ConstTensorView() const { return {data, shape}; }
};

// Uninitialised, 64-byte aligned floats. Throws Error with the size asked for when memory runs out.
class FloatBuffer {
 public:
  FloatBuffer() = default;
  explicit FloatBuffer(size_t count);

  float* data() { return data_.get(); }
  const float* data() const { return data_.get(); }
  size_t size() const { return size_; }
  std::span<float> span() { return {data_.get(), size_}; }
  std::span<const float> span() const { return {data_.get(), size_}; }

 private:
  struct Free {
    void operator()(float* p) const;
  };
  std::unique_ptr<float[], Free> data_;
  size_t size_ = 0;
};

class Tensor {
 public:
  Tensor() = default;
  explicit Tensor(Shape shape, float fill = 0.0f);

  const Shape& shape() const { return shape_; }
  float* data() { return buffer_.data(); }
  const float* data() const { return buffer_.data(); }
  TensorView view() { return {buffer_.data(), shape_}; }
  ConstTensorView view() const { return {buffer_.data(), shape_}; }
  operator TensorView() { return view(); }
  operator ConstTensorView() const { return view(); }
  std::span<float> values() { return buffer_.span(); }
  std::span<const float> values() const { return buffer_.span(); }

 private:
  Shape shape_;
  FloatBuffer buffer_;
};

}  // namespace mdsm

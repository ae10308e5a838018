// What the tests of the native engine's parts share: channel-blocked random maps, and the epilogue of a
// convolution written out in double.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/random.h"
#include "core/tensor.h"
#include "engine/native/epilogue.h"
#include "engine/native/tile_kernels.h"

namespace mdsm::engine::native::test {

using Doubles = std::vector<double>;

inline FloatBuffer filled(int64_t count, float value) {
  FloatBuffer buffer(static_cast<size_t>(count));
  std::ranges::fill(buffer.span(), value);
  return buffer;
}

inline FloatBuffer normal(int64_t count, uint64_t index, float scale = 1.0f) {
  FloatBuffer buffer(static_cast<size_t>(count));
  RandomStream(11, Purpose::check, index).fill_normal(buffer.span());
  for (float& v : buffer.span()) v *= scale;
  return buffer;
}

// n feature maps in the engine's layout. The channels that fill up the last block are padding.
struct Blocked {
  int64_t n, channels, size, block;

  int64_t padded() const { return (channels + block - 1) / block * block; }
  int64_t image() const { return padded() * size * size; }
  int64_t count() const { return n * image(); }
  MapShape shape() const { return {padded(), size, size, block}; }
  int64_t channel(int64_t at) const {
    return at / (size * size * block) % (padded() / block) * block + at % block;
  }
  int64_t at(int64_t i, int64_t c, int64_t y, int64_t x) const {
    return (((i * (padded() / block) + c / block) * size + y) * size + x) * block + c % block;
  }
  // Where the 2x2 mean of this place's pixel lies, in maps of half the size.
  int64_t pooled(int64_t at) const {
    const int64_t pixel = at / block % (size * size), plane = at / (size * size * block), half = size / 2;
    return ((plane * half + pixel / size / 2) * half + pixel % size / 2) * block + at % block;
  }
  Blocked halved() const { return {n, channels, size / 2, block}; }
};

// Random values, with zeros in the padding.
inline FloatBuffer normal_map(const Blocked& b, uint64_t index, float scale = 1.0f) {
  FloatBuffer map = normal(b.count(), index, scale);
  for (int64_t k = 0; k < b.count(); ++k)
    if (b.channel(k) >= b.channels) map.data()[k] = 0;
  return map;
}

inline double elu(double v) { return v > 0 ? v : std::expm1(v); }
inline double slope(float y) { return y > 0 ? 1.0 : static_cast<double>(y) + 1.0; }

// Which parts of an epilogue are in use.
struct EpilogueParts {
  enum class Add { none, map, own_memory, unpooled };
  enum class Second { none, elu, slope };

  Epilogue::Op op = Epilogue::Op::none;
  bool bias = false, raw = false;
  Add add = Add::none;
  Second second = Second::none;

  std::string text() const {
    return "op " + std::to_string(static_cast<int>(op)) + (bias ? ", bias" : "") + (raw ? ", raw" : "") +
           ", add " + std::to_string(static_cast<int>(add)) + ", second " +
           std::to_string(static_cast<int>(second));
  }
};

// Every combination with one of these ops and ways to add.
inline std::vector<EpilogueParts> epilogue_parts(const std::vector<Epilogue::Op>& ops,
                                                 const std::vector<EpilogueParts::Add>& adds) {
  using Second = EpilogueParts::Second;
  std::vector<EpilogueParts> all;
  for (const auto op : ops)
    for (const bool bias : {false, true})
      for (const bool raw : {false, true})
        for (const auto add : adds)
          for (const auto second : {Second::none, Second::elu, Second::slope})
            all.push_back({op, bias, raw, add, second});
  return all;
}

// What an epilogue leaves behind; raw and second only where asked for.
struct Finished {
  Doubles map, raw, second;
};

// An epilogue with memory and random values for every part in use.
struct EpilogueData {
  EpilogueParts parts;
  Blocked shape;
  FloatBuffer bias, y, delta, ydot, add, second_y, raw, second;

  EpilogueData(const EpilogueParts& parts_, const Blocked& shape_)
      : parts(parts_),
        shape(shape_),
        bias(filled(shape.padded(), 0)),
        y(normal_map(shape, 101)),
        delta(normal_map(shape, 102)),
        ydot(normal_map(shape, 103)),
        add(normal_map(parts.add == EpilogueParts::Add::unpooled ? shape.halved() : shape, 104)),
        second_y(normal_map(shape, 105)),
        raw(filled(shape.count(), 9)),
        second(filled(shape.count(), 9)) {
    std::ranges::copy(normal(shape.channels, 106).span(), bias.data());
    for (FloatBuffer* output : {&y, &second_y}) {  // of an ELU: never below -1
      for (float& v : output->span()) v = std::max(v, -1.0f);
      const float edges[] = {0.0f, -0.0f, -1.0f, 1e-30f, -1e-30f};
      for (int64_t e = 0; e < 5; ++e) output->data()[e * shape.block] = edges[e];
    }
  }

  // dst: the memory of the result, which also holds what is added where parts.add says so.
  Epilogue epilogue(const float* dst) {
    Epilogue e;
    if (parts.bias) e.bias = bias.data();
    if (parts.raw) e.raw = raw.data();
    e.op = parts.op;
    using Op = Epilogue::Op;
    const bool bend = parts.op == Op::bend || parts.op == Op::silu_bend;
    if (bend || parts.op == Op::slope || parts.op == Op::silu_slope) e.y = y.data();
    if (bend) e.delta = delta.data(), e.ydot = ydot.data();
    if (parts.add != EpilogueParts::Add::none) e.add = add.data();
    if (parts.add == EpilogueParts::Add::own_memory) e.add = dst;
    e.add_unpooled = parts.add == EpilogueParts::Add::unpooled;
    if (parts.second != EpilogueParts::Second::none) e.second = second.data();
    if (parts.second == EpilogueParts::Second::slope) e.second_y = second_y.data();
    return e;
  }

  // The definition; `add` is also what dst held before.
  Finished finish(const Doubles& values) const {
    Finished f{values, {}, {}};
    for (size_t k = 0; k < values.size(); ++k) {
      const auto at = static_cast<int64_t>(k);
      double& v = f.map[k];
      if (parts.bias) v += static_cast<double>(bias.data()[shape.channel(at)]);
      if (parts.raw) f.raw.push_back(v);
      if (parts.op == Epilogue::Op::elu) v = elu(v);
      if (parts.op == Epilogue::Op::slope) v *= slope(y.data()[k]);
      if (parts.op == Epilogue::Op::bend) {
        v *= slope(y.data()[k]);
        if (!(y.data()[k] > 0))
          v += static_cast<double>(delta.data()[k]) * static_cast<double>(ydot.data()[k]);
      }
      if (parts.add == EpilogueParts::Add::unpooled)
        v += 0.25 * static_cast<double>(add.data()[shape.pooled(at)]);
      else if (parts.add != EpilogueParts::Add::none)
        v += static_cast<double>(add.data()[k]);
      if (parts.second == EpilogueParts::Second::elu) f.second.push_back(elu(v));
      if (parts.second == EpilogueParts::Second::slope) f.second.push_back(v * slope(second_y.data()[k]));
    }
    return f;
  }
};

// A map in bfloat16. The floats it is made of are rounded too, so that both hold the same numbers.
class HalfMap {
 public:
  HalfMap() = default;
  explicit HalfMap(FloatBuffer& values) : memory_(values.size() / 2 + 32), count_(values.size()) {
    for (size_t k = 0; k < count_; ++k) {
      data()[k] = to_bfloat16(values.data()[k]);
      values.data()[k] = to_float(data()[k]);
    }
  }
  Bfloat16* data() { return reinterpret_cast<Bfloat16*>(memory_.data()); }

  // What was computed from the same numbers and rounded at the end.
  void expect_near(const FloatBuffer& wanted) {
    ASSERT_EQ(count_, wanted.size());
    for (size_t k = 0; k < count_; ++k) {
      const float value = wanted.data()[k];
      ASSERT_NEAR(to_float(data()[k]), value, 0x1.02p-8f * std::fabs(value) + 2e-4f) << "at " << k;
    }
  }

 private:
  FloatBuffer memory_;
  size_t count_ = 0;
};

// The epilogue of `data` on maps in bfloat16.
struct HalfEpilogue {
  HalfMap y, delta, ydot, add, second_y, raw, second;
  EpilogueOf<Bfloat16> epilogue;

  HalfEpilogue(EpilogueData& data, bool silu)
      : y(data.y),
        delta(data.delta),
        ydot(data.ydot),
        add(data.add),
        second_y(data.second_y),
        raw(data.raw),
        second(data.second) {
    const Epilogue from = data.epilogue(nullptr);
    const auto same = [](const float* used, HalfMap& map) { return used ? map.data() : nullptr; };
    epilogue.bias = from.bias;
    epilogue.op = from.op;
    epilogue.raw = same(from.raw, raw);
    epilogue.y = same(from.y, y);
    epilogue.delta = same(from.delta, delta);
    epilogue.ydot = same(from.ydot, ydot);
    epilogue.add = same(from.add, add);
    epilogue.add_unpooled = from.add_unpooled;
    epilogue.second = same(from.second, second);
    epilogue.second_y = same(from.second_y, second_y);
    epilogue.second_silu = silu;
  }
};

}  // namespace mdsm::engine::native::test

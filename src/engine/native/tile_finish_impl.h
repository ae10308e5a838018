// The epilogue of a convolution on matrix units, included by tile_impl.h.
#include "engine/native/tile_kernels.h"
#include "engine/native/vectors_impl.h"

namespace mdsm::engine::native {
namespace {

// The epilogue of one block of 16 outputs after the other, a few pixels at a time: so it runs between the
// products of the next block, which leave the vector units idle.
template <class Tiles, int B, EpilogueOp O, class Result>
class Finisher {
 public:
  MDSM_INLINE Finisher(const EpilogueOf<Bfloat16>& epilogue, const PositionMap& to, RowRange range,
                       Result* map)
      : e_(epilogue),
        to_(to),
        blocks_(to.map.channels / B),
        columns_((to.map.width - to.offset_x + to.step - 1) / to.step),
        first_image_(range.first / to.rows),
        first_row_(range.first % to.rows),
        map_(map) {}

  // The next positions of a block of outputs, from its first one on where `outputs` is another than before.
  MDSM_INLINE void begin(int64_t outputs, int64_t count, const float* sums) {
    if (outputs != outputs_) {
      outputs_ = outputs;
      image_ = first_image_;
      row_ = first_row_;
      column_ = 0;
      for (int64_t b = 0; b < kBlocks; ++b)
        bias_[b] = e_.bias && outputs * kBlocks + b < blocks_ ? load<B>(e_.bias + (outputs * kBlocks + b) * B)
                                                              : Vector<B>{};
    }
    left_ = count;
    gap_ = 0;
    sums_ = reinterpret_cast<const Vector<B>*>(sums);
  }

  MDSM_INLINE void advance(int64_t pixels) {
    for (; pixels > 0; --pixels) {
      if (run_ == 0 && !next_run()) return;
      finish();
    }
  }
  [[gnu::noinline]] void complete() {
    while (run_ > 0 || left_ > 0) advance(kPositionsAtOnce);
  }

 private:
  static constexpr int64_t kBlocks = kTileRows / B;

  // To the next pixel that is one, and how many follow it; false where this block of positions ends.
  [[gnu::noinline]] bool next_run() {
    while (left_ > 0) {
      const int64_t rest = to_.columns - column_, run = rest < left_ ? rest : left_,
                    y = to_.step * row_ + to_.offset_y,
                    pixels = columns_ - column_ < run ? columns_ - column_ : run, from = column_;
      left_ -= run;
      column_ += run;
      const int64_t image = image_;
      if (column_ == to_.columns) {
        column_ = 0;
        if (++row_ == to_.rows) row_ = 0, ++image_;
      }
      sums_ += gap_ * kBlocks;
      gap_ = run;
      if (pixels <= 0 || image >= to_.images || y >= to_.map.height) continue;
      gap_ = run - pixels;
      run_ = pixels;
      place(image, y, to_.step * from + to_.offset_x);
      return true;
    }
    gap_ = 0;
    return false;
  }

  MDSM_INLINE void place(int64_t image, int64_t y, int64_t x) {
    const int64_t c = outputs_ * kBlocks, plane = to_.map.plane(), pixel = (y * to_.map.width + x) * B;
    at_ = (image * blocks_ + c) * plane + pixel;
    result_ = map_ + (image * to_.map.stride() + c) * plane + pixel;
    const int64_t add_plane = image * (e_.add_planes > 0 ? e_.add_planes : blocks_) + c;
    x_ = x;
    if (e_.add)
      add_ = e_.add + (e_.add_unpooled ? add_plane * (plane / 4) + (y / 2) * (to_.map.width / 2) * B
                                       : add_plane * plane + pixel - x * B);
  }

  MDSM_INLINE void finish() {
    for (int64_t b = 0; b < kBlocks; ++b) {
      if (b > 0 && outputs_ * kBlocks + b >= blocks_) break;
      const int64_t plane = b * to_.map.plane();
      const Bfloat16* add = nullptr;
      if (e_.add) add = add_ + (e_.add_unpooled ? plane / 4 + x_ / 2 * B : plane + x_ * B);
      finish_value<B, O, typename Tiles::Stores>(e_, sums_[b] + bias_[b], at_ + plane, add, result_ + plane);
    }
    sums_ += kBlocks;
    at_ += to_.step * B;
    result_ += to_.step * B;
    x_ += to_.step;
    --run_;
  }

  const EpilogueOf<Bfloat16>& e_;
  const PositionMap& to_;
  int64_t blocks_, columns_, first_image_, first_row_;
  Result* map_;
  Vector<B> bias_[kBlocks];
  int64_t outputs_ = -1, image_ = 0, row_ = 0, column_ = 0;
  int64_t left_ = 0, run_ = 0, gap_ = 0;  // positions not looked at; pixels of this run; positions behind it
  int64_t at_ = 0, x_ = 0;
  Result* result_ = nullptr;
  const Bfloat16* add_ = nullptr;
  const Vector<B>* sums_ = nullptr;
};

}  // namespace
}  // namespace mdsm::engine::native

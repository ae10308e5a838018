// Counter-based random streams (Philox 4x32-10 of Random123). A stream is named by (seed, purpose, index) and
// every draw by its position in the stream, so nothing depends on threads, batch size or order, and nothing
// needs saving.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace mdsm {

// What a stream is for. Values are part of the reproducibility promise: append, never renumber.
enum class Purpose : uint32_t {
  initialisation = 1,
  shuffle = 2,
  flip = 3,
  training_noise = 4,
  preview_noise = 5,
  stacked_digits = 6,
  added_noise = 7,
  check = 8,
  sampling = 9,
  hidden_pixels = 10,
  likelihood_start = 11,  // noise that a chain of maximum-likelihood training starts from
  likelihood_draw = 12,   // which chains take part in an update, and which of them start anew
  likelihood_step = 13,   // noise of the Langevin steps
};

class RandomStream {
 public:
  RandomStream(uint64_t seed, Purpose purpose, uint64_t index = 0);

  uint32_t bits();
  double uniform();                        // [0, 1)
  uint64_t below(uint64_t n);              // 0 .. n-1, unbiased
  void fill_normal(std::span<float> out);  // standard normal; starts at a fresh block of the stream
  // Values number `first` and on of those that one fill_normal() would give now. The stream stays where it
  // is.
  void normals_at(uint64_t first, std::span<float> out) const;
  void fill_uniform(std::span<float> out, float low, float high);

 private:
  void refill();

  uint32_t key_[2];
  uint32_t purpose_;
  uint64_t index_;
  uint64_t position_ = 0;
  uint32_t block_[4];
  int used_ = 4;
};

// A permutation of 0 .. n-1 drawn from the stream.
std::vector<uint32_t> permutation(RandomStream stream, uint32_t n);

}  // namespace mdsm

// Batches for training, prepared by a thread of their own. The stream of images is the endless sequence of
// epochs, each a fresh permutation drawn from (seed, epoch), cut into batches; so the batch of a step is a
// function of (data, seed, step) alone, and resuming at a step is exact.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <deque>
#include <exception>
#include <mutex>
#include <thread>
#include <vector>

#include "core/tensor.h"
#include "data/augment.h"
#include "data/dataset.h"

namespace mdsm::data {

struct LoaderOptions {
  int64_t batch = 128;
  uint64_t seed = 0;
  AugmentOptions augment{};              // drawn per image from the seed
  int64_t first_step = 0;                // the cursor: number of batches already consumed
  int prefetch = 4;                      // batches held ready
  int64_t first_image = 0, images = -1;  // of each batch, the only ones to be read; -1 = all
};

class Loader {
 public:
  Loader(const Dataset& dataset, const LoaderOptions& options);  // keeps a reference to the dataset
  ~Loader();
  Loader(const Loader&) = delete;
  Loader& operator=(const Loader&) = delete;

  Tensor next();  // (batch,C,H,W); waits until ready; rethrows what the thread threw
  int64_t cursor() const { return consumed_; }  // number of batches handed out, counting from first_step

 private:
  void work();
  Tensor make_batch(int64_t step);

  const Dataset& dataset_;
  LoaderOptions options_;
  int64_t consumed_;
  int64_t epoch_ = -1;
  std::vector<uint32_t> order_;

  std::mutex mutex_;
  std::condition_variable changed_;
  std::deque<Tensor> ready_;
  std::exception_ptr error_;
  bool stop_ = false;
  std::thread thread_;
};

}  // namespace mdsm::data

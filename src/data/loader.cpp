#include "data/loader.h"

#include <limits>
#include <system_error>

#include "core/error.h"
#include "core/random.h"

namespace mdsm::data {

Loader::Loader(const Dataset& dataset, const LoaderOptions& options)
    : dataset_(dataset), options_(options), consumed_(options.first_step) {
  if (options.batch < 1 || options.prefetch < 1 || options.first_step < 0)
    fail_usage("batch and prefetch start at 1, the first step at 0",
               "a loader with batch {}, prefetch {} and first step {}", options.batch, options.prefetch,
               options.first_step);
  if (dataset.size() < 1 || dataset.size() > std::numeric_limits<uint32_t>::max())
    fail("use another source or --limit", "{}: {} images cannot be shuffled", dataset.description(),
         dataset.size());
  try {
    thread_ = std::thread([this] { work(); });
  } catch (const std::system_error& error) {
    fail("free some memory, or allow more processes (ulimit -u)", "out of memory or threads: {}",
         error.code().message());
  }
}

Loader::~Loader() {
  {
    const std::lock_guard lock(mutex_);
    stop_ = true;
  }
  changed_.notify_all();
  thread_.join();
}

Tensor Loader::next() {
  std::unique_lock lock(mutex_);
  changed_.wait(lock, [this] { return !ready_.empty() || error_; });
  if (ready_.empty()) std::rethrow_exception(error_);
  Tensor batch = std::move(ready_.front());
  ready_.pop_front();
  ++consumed_;
  lock.unlock();
  changed_.notify_all();
  return batch;
}

void Loader::work() {
  try {
    for (int64_t step = options_.first_step;; ++step) {
      Tensor batch = make_batch(step);
      std::unique_lock lock(mutex_);
      changed_.wait(lock, [this] { return stop_ || ready_.size() < static_cast<size_t>(options_.prefetch); });
      if (stop_) return;
      ready_.push_back(std::move(batch));
      lock.unlock();
      changed_.notify_all();
    }
  } catch (...) {
    const std::lock_guard lock(mutex_);
    error_ = std::current_exception();
    changed_.notify_all();
  }
}

Tensor Loader::make_batch(int64_t step) {
  const int64_t images = dataset_.size();
  const Shape shape = dataset_.image_shape().with_n(options_.batch);
  Tensor batch(shape);
  const int64_t end = options_.images < 0 ? options_.batch : options_.first_image + options_.images;
  for (int64_t i = options_.first_image; i < end; ++i) {
    const int64_t k = step * options_.batch + i;  // place in the endless stream
    if (k / images != epoch_) {
      epoch_ = k / images;
      order_ = permutation(RandomStream(options_.seed, Purpose::shuffle, static_cast<uint64_t>(epoch_)),
                           static_cast<uint32_t>(images));
    }
    const std::span<float> image = batch.view().image(i);
    dataset_.read(order_[static_cast<size_t>(k % images)], image);
    if (options_.augment.any())
      augment(image, shape, options_.augment, options_.seed, static_cast<uint64_t>(k));
  }
  return batch;
}

}  // namespace mdsm::data

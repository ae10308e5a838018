#include "eval/reverse_starts.h"

#include "core/hash.h"
#include "core/random.h"

namespace mdsm::eval {

ReverseStarts::ReverseStarts(std::shared_ptr<const data::Dataset> from, uint64_t seed)
    : from_(std::move(from)),
      order_(permutation({seed, Purpose::shuffle}, static_cast<uint32_t>(from_->size()))) {}

Tensor ReverseStarts::images(int64_t first, int64_t count) const {
  Tensor x(from_->image_shape().with_n(count));
  for (int64_t i = 0; i < count; ++i)
    from_->read(order_[static_cast<size_t>((first + i) % from_->size())], x.view().image(i));
  return x;
}

std::string ReverseStarts::hash(int64_t count) const {
  std::string hashes;
  for (int64_t i = 0; i < count; ++i) {
    const Tensor x = images(i, 1);
    hashes += content_hash(x.data(), x.values().size_bytes());
  }
  return content_hash(hashes.data(), hashes.size());
}

}  // namespace mdsm::eval

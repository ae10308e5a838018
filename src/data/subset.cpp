#include "data/subset.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "core/random.h"

namespace mdsm::data {
namespace {

constexpr uint64_t kSubset = uint64_t{1} << 62;  // a stream apart from those of epochs and other shuffles

std::vector<uint32_t> shuffled(const Dataset& whole, uint64_t seed) {
  return permutation({seed, Purpose::shuffle, kSubset}, static_cast<uint32_t>(whole.size()));
}

}  // namespace

Subset::Subset(std::shared_ptr<const Dataset> whole, std::vector<uint32_t> indices, std::string note)
    : whole_(std::move(whole)), indices_(std::move(indices)), note_(std::move(note)) {
  for (const uint32_t index : indices_)
    if (index >= whole_->size())
      fail("this is a bug in the caller", "image {} of {}", index, whole_->description());
}

int64_t Subset::inner(int64_t index) const {
  if (index < 0 || index >= size())
    fail(fmt::format("it holds {} images", size()), "{}: no image {}", description(), index);
  return indices_[static_cast<size_t>(index)];
}

Subset random_subset(std::shared_ptr<const Dataset> whole, int64_t count, uint64_t seed) {
  auto order = shuffled(*whole, seed);
  order.resize(static_cast<size_t>(std::clamp<int64_t>(count, 0, whole->size())));
  std::string note = fmt::format("{} drawn at random (seed {}) of ", order.size(), seed);
  return {std::move(whole), std::move(order), std::move(note)};
}

int64_t held_out_count(int64_t n, double share) {
  return std::max<int64_t>(1, std::min<int64_t>(std::llround(share * static_cast<double>(n)), n - 1));
}

HeldOut hold_out(std::shared_ptr<const Dataset> whole, double share, uint64_t seed) {
  const int64_t n = whole->size();
  if (n < 2) fail("use more images", "{}: too few images to hold some out", whole->description());
  const int64_t count = held_out_count(n, share);
  const auto order = shuffled(*whole, seed);
  const auto middle = order.begin() + count;
  const auto note = [&](int64_t images) {
    return fmt::format("{} drawn at random (seed {}) of ", images, seed);
  };
  return {std::make_shared<Subset>(whole, std::vector<uint32_t>(middle, order.end()), note(n - count)),
          std::make_shared<Subset>(whole, std::vector<uint32_t>(order.begin(), middle), note(count))};
}

}  // namespace mdsm::data

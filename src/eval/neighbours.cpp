#include "eval/neighbours.h"

#include <algorithm>
#include <atomic>
#include <cmath>
#include <mutex>

#include "core/binomial.h"
#include "core/error.h"
#include "core/threads.h"
#include "eval/mean.h"
#include "linalg/gemm.h"

namespace mdsm::eval {
namespace {

constexpr int64_t kBlock = 512;     // images of the data set multiplied at a time
constexpr int64_t kRows = 384;      // given images at a time; their products stay in the cache
constexpr int64_t kSpare = 16;      // candidates beyond k that are looked at again in double
constexpr double kRounding = 6e-8;  // half a unit in the last place of a float

double squared_norm(std::span<const float> x) {
  double sum = 0;
  for (const float value : x) sum += static_cast<double>(value) * value;
  return sum;
}

struct Candidate {
  double distance;  // squared
  int64_t index;
  bool operator<(const Candidate& other) const {
    return distance != other.distance ? distance < other.distance : index < other.index;
  }
};

// The best few seen so far, worst on top.
class Best {
 public:
  explicit Best(size_t most) : most_(most) {}
  void offer(const Candidate& candidate) {
    if (heap_.size() == most_ && !(candidate < heap_.front())) return;
    if (heap_.size() == most_) {
      std::pop_heap(heap_.begin(), heap_.end());
      heap_.pop_back();
    }
    heap_.push_back(candidate);
    std::push_heap(heap_.begin(), heap_.end());
  }
  const std::vector<Candidate>& all() const { return heap_; }

 private:
  size_t most_;
  std::vector<Candidate> heap_;
};

class Search {
 public:
  Search(const data::Dataset& data, ConstTensorView images, int64_t k)
      : data_(data), images_(images), k_(k), length_(images.shape.per_image()) {
    most_ = static_cast<size_t>(std::min(data.size(), k + kSpare));
    for (int64_t i = 0; i < images.shape.n; ++i) norms_.push_back(squared_norm(images.image(i)));
    best_.assign(norms_.size(), Best(most_));
  }

  // Images [begin, end) of the data set against all given ones.
  void scan(int64_t begin, int64_t end, const std::function<void(int64_t)>& done) {
    std::vector<Best> best(norms_.size(), Best(most_));
    std::vector<float> block(static_cast<size_t>(kBlock * length_)),
        products(static_cast<size_t>(kRows * kBlock));
    std::vector<double> norms(static_cast<size_t>(kBlock));
    double largest = 0;
    for (int64_t first = begin; first < end; first += kBlock) {
      const int64_t count = std::min(kBlock, end - first);
      for (int64_t i = 0; i < count; ++i) {
        const std::span image(block.data() + i * length_, static_cast<size_t>(length_));
        data_.read(first + i, image);
        norms[static_cast<size_t>(i)] = squared_norm(image);
        largest = std::max(largest, norms[static_cast<size_t>(i)]);
      }
      multiply_block(first, count, block, norms, products, best);
      if (done) done(seen_ += count);
    }
    const std::lock_guard lock(mutex_);
    largest_norm_ = std::max(largest_norm_, largest);
    for (size_t i = 0; i < best.size(); ++i)
      for (const Candidate& candidate : best[i].all()) best_[i].offer(candidate);
  }

  // Again in double. True when nothing that was left out can be among the k best.
  bool settle(int64_t image, std::span<Neighbour> out) const {
    const auto& rough = best_[static_cast<size_t>(image)].all();
    std::vector<Candidate> exact;
    std::vector<float> pixels(static_cast<size_t>(length_));
    double worst = 0;  // of the rough distances kept: all that were left out are at least as far
    for (const Candidate& candidate : rough) {
      worst = std::max(worst, candidate.distance);
      data_.read(candidate.index, pixels);
      exact.push_back({squared_distance<float>(images_.image(image), pixels), candidate.index});
    }
    std::sort(exact.begin(), exact.end());
    write(exact, out);
    const bool all = static_cast<int64_t>(rough.size()) == data_.size();
    return all || exact[static_cast<size_t>(k_) - 1].distance < worst - rounding(image);
  }

  void search_in_double(int64_t image, std::span<Neighbour> out) const {
    Best best(static_cast<size_t>(k_));
    std::vector<float> pixels(static_cast<size_t>(length_));
    for (int64_t i = 0; i < data_.size(); ++i) {
      data_.read(i, pixels);
      best.offer({squared_distance<float>(images_.image(image), pixels), i});
    }
    std::vector<Candidate> exact = best.all();
    std::sort(exact.begin(), exact.end());
    write(exact, out);
  }

 private:
  void multiply_block(int64_t first, int64_t count, const std::vector<float>& block,
                      const std::vector<double>& norms, std::vector<float>& products,
                      std::vector<Best>& best) const {
    for (int64_t row = 0; row < images_.shape.n; row += kRows) {
      const int64_t rows = std::min(kRows, images_.shape.n - row);
      multiply(rows, count, length_, linalg::Factor<float>{images_.data + row * length_, length_},
               linalg::Factor<float>{block.data(), length_, linalg::Op::transposed}, products.data(), kBlock);
      for (int64_t i = 0; i < rows; ++i) {
        const auto at = static_cast<size_t>(row + i);
        const float* of_row = products.data() + i * kBlock;
        for (int64_t j = 0; j < count; ++j)
          best[at].offer({norms_[at] + norms[static_cast<size_t>(j)] - 2.0 * of_row[j], first + j});
      }
    }
  }

  // A sum of n products in float is wrong by at most n roundings of sum |a b| <= ‖a‖‖b‖; twice that in the
  // distance, and half again for safety.
  double rounding(int64_t image) const {
    return 3 * kRounding * static_cast<double>(length_) *
           std::sqrt(norms_[static_cast<size_t>(image)] * largest_norm_);
  }

  void write(const std::vector<Candidate>& exact, std::span<Neighbour> out) const {
    for (size_t i = 0; i < out.size(); ++i) out[i] = {exact[i].index, std::sqrt(exact[i].distance)};
  }

  const data::Dataset& data_;
  ConstTensorView images_;
  int64_t k_, length_;
  size_t most_ = 0;
  std::vector<double> norms_;
  std::vector<Best> best_;
  std::mutex mutex_;
  std::atomic<int64_t> seen_ = 0;
  double largest_norm_ = 0;  // squared, of the data set
};

}  // namespace

Neighbours nearest_neighbours(const data::Dataset& data, ConstTensorView images, int64_t k,
                              const std::function<void(int64_t)>& done) {
  if (images.shape.n < 1) fail("give at least one", "no images to find neighbours of");
  if (images.shape.with_n(1) != data.image_shape())
    fail("fit them with --pad, --crop, --resize or --colour",
         "images of {} cannot be compared with those of {}", images.shape.with_n(1).text(),
         data.image_shape().text());
  if (k < 1 || k > data.size())
    fail_usage("use 1 to the number of images", "{} neighbours among {} images", k, data.size());
  if (const int64_t at = find_non_finite(images.values()); at >= 0)
    fail("check the samples", "image {} has a value that is not finite", at / images.shape.per_image());
  Search search(data, images, k);
  parallel_for(data.size(), kBlock, [&](int64_t begin, int64_t end) { search.scan(begin, end, done); });
  Neighbours found{k, std::vector<Neighbour>(static_cast<size_t>(images.shape.n * k)), 0};
  std::vector<uint8_t> unsettled(static_cast<size_t>(images.shape.n));
  parallel_for(images.shape.n, 1, [&](int64_t begin, int64_t end) {
    for (int64_t i = begin; i < end; ++i) {
      const std::span<Neighbour> out(found.list.data() + i * k, static_cast<size_t>(k));
      unsettled[static_cast<size_t>(i)] = !search.settle(i, out);
      if (unsettled[static_cast<size_t>(i)]) search.search_in_double(i, out);
    }
  });
  found.searched_in_double = std::ranges::count(unsettled, uint8_t{1});
  return found;
}

Tensor all_images(std::initializer_list<const data::Dataset*> sets) {
  int64_t n = 0;
  Shape one;
  for (const data::Dataset* set : sets)
    if (set) n += set->size(), one = set->image_shape();
  Tensor images(one.with_n(n));
  int64_t next = 0;
  for (const data::Dataset* set : sets)
    for (int64_t i = 0; set && i < set->size(); ++i) set->read(i, images.view().image(next++));
  return images;
}

std::vector<double> nearest_distances(const Neighbours& found, int64_t first, int64_t count) {
  std::vector<double> distances;
  for (int64_t i = first; i < first + count; ++i) distances.push_back(found.of(i, 0).distance);
  return distances;
}

Memorisation memorisation(std::span<const double> samples, std::span<const double> held_out,
                          double quantile) {
  if (samples.empty() || held_out.empty()) fail("give at least one of each", "no distances to compare");
  if (!(quantile > 0 && quantile < 1))
    fail_usage("use a number between 0 and 1", "a quantile of {}", quantile);
  Memorisation result;
  result.samples = static_cast<int64_t>(samples.size());
  result.held_out = static_cast<int64_t>(held_out.size());
  const Mean a = mean_of(samples), b = mean_of(held_out);
  result.sample_mean = a.mean, result.sample_error = a.error;
  result.held_out_mean = b.mean, result.held_out_error = b.error;
  std::vector<double> sorted(held_out.begin(), held_out.end());
  std::ranges::sort(sorted);
  result.quantile = quantile;
  result.threshold = sorted[static_cast<size_t>(quantile * static_cast<double>(sorted.size()))];
  const int64_t below = std::ranges::count_if(samples, [&](double d) { return d < result.threshold; });
  result.share = static_cast<double>(below) / static_cast<double>(result.samples);
  result.share_error = binomial_error(below, result.samples);
  return result;
}

}  // namespace mdsm::eval

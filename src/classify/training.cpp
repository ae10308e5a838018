// A batch is cut into fixed groups of images. Each group has a gradient of its own, and these are added in
// their order, whichever threads computed them; only so many at a time, so that memory does not grow with
// the batch.
#include "classify/training.h"

#include <algorithm>
#include <cmath>
#include <memory>
#include <mutex>
#include <numbers>

#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"

namespace mdsm::classify {
namespace {

constexpr int64_t kGradientWave = 32;  // groups whose gradients are in memory together

std::vector<int> labels_of(const data::Dataset& data) {
  std::vector<int> labels;
  for (int64_t i = 0; i < data.size(); ++i) {
    labels.push_back(data.label(i));
    if (labels.back() < 0)
      fail("use an idx set with its labels, cifar10, svhn or a folder of class folders",
           "{}: has no labels to train on", data.description());
  }
  return labels;
}

void measure(const data::Dataset& data, ClassifierSpec& spec) {
  std::vector<float> image(static_cast<size_t>(data.image_shape().count()));
  double sum = 0, squares = 0;
  for (int64_t i = 0; i < data.size(); ++i) {
    data.read(i, image);
    for (const float value : image) {
      sum += value;
      squares += static_cast<double>(value) * value;
    }
  }
  const double count = static_cast<double>(data.size()) * static_cast<double>(image.size());
  spec.mean = static_cast<float>(sum / count);
  spec.deviation =
      static_cast<float>(std::sqrt(std::max(0.0, squares / count - sum / count * (sum / count))));
}

void check_noise(const ClassifierTraining& options) {
  if (options.sigma_max <= 0) return;
  if (!(options.sigma_min > 0))
    fail_usage("use 0.05 or so", "--sigma-min {}: levels spread in the logarithm need a lowest one",
               options.sigma_min);
  if (options.sigma_min > options.sigma_max)
    fail_usage("use a higher --sigma-max", "--sigma-min {} is above --sigma-max {}", options.sigma_min,
               options.sigma_max);
}

// The image moved by (dx, dy) and maybe flipped; what comes in from outside is 0, as in the padding.
void moved(std::span<const float> from, const Shape& s, int64_t dx, int64_t dy, bool flip,
           std::span<float> to) {
  std::ranges::fill(to, 0.0f);
  for (int64_t c = 0; c < s.c; ++c)
    for (int64_t y = 0; y < s.h; ++y) {
      if (y - dy < 0 || y - dy >= s.h) continue;
      const float* row = from.data() + (c * s.h + y - dy) * s.w;
      float* out = to.data() + (c * s.h + y) * s.w;
      for (int64_t x = std::max<int64_t>(0, dx); x < std::min(s.w, s.w + dx); ++x)
        out[x] = row[flip ? s.w - 1 - (x - dx) : x - dx];
    }
}

// Working memory of groups, as many as threads use at a time.
class Rooms {
 public:
  explicit Rooms(const ClassifierSpec& spec) : spec_(spec) {}

  std::unique_ptr<ClassifierGroup> take() {
    const std::lock_guard lock(mutex_);
    if (free_.empty()) return std::make_unique<ClassifierGroup>(spec_, kGroup);
    auto room = std::move(free_.back());
    free_.pop_back();
    return room;
  }
  void give_back(std::unique_ptr<ClassifierGroup> room) {
    const std::lock_guard lock(mutex_);
    free_.push_back(std::move(room));
  }

 private:
  const ClassifierSpec& spec_;
  std::mutex mutex_;
  std::vector<std::unique_ptr<ClassifierGroup>> free_;
};

class Trainer {
 public:
  Trainer(const data::Dataset& data, const ClassifierTraining& options)
      : data_(data), options_(options), labels_(labels_of(data)) {
    check_noise(options);
    spec_.input = data.image_shape();
    spec_.width = options.width;
    spec_.features = options.features;
    spec_.classes = std::max<int64_t>(static_cast<int64_t>(data.class_names().size()),
                                      *std::ranges::max_element(labels_) + 1);
    measure(data, spec_);
    check(spec_);
    weights_ = initial_weights(spec_, options.seed);
    m_.assign(weights_.size(), 0);
    v_.assign(weights_.size(), 0);
    batch_ = std::min(options.batch, data.size());
    groups_ = (batch_ + kGroup - 1) / kGroup;
    gradients_.resize(static_cast<size_t>(std::min(groups_, kGradientWave)));
    for (auto& gradient : gradients_) gradient.resize(weights_.size());
    sum_.resize(weights_.size());
    losses_.resize(static_cast<size_t>(groups_));
    right_.resize(static_cast<size_t>(groups_));
  }

  int64_t steps_per_epoch() const { return data_.size() / batch_; }
  int64_t steps() const { return options_.epochs * steps_per_epoch(); }

  // Sum of the losses and number of right answers.
  std::pair<double, int64_t> step(int64_t epoch, int64_t in_epoch, std::span<const uint32_t> order) {
    const auto chosen = order.subspan(static_cast<size_t>(in_epoch * batch_), static_cast<size_t>(batch_));
    std::ranges::fill(sum_, 0.0f);
    for (int64_t first = 0; first < groups_; first += kGradientWave) {
      const int64_t count = std::min(kGradientWave, groups_ - first);
      parallel_for(count, 1, [&](int64_t begin, int64_t end) {
        auto room = rooms_.take();
        for (int64_t g = begin; g < end; ++g)
          run_group(*room, epoch, chosen, first + g, gradients_[static_cast<size_t>(g)]);
        rooms_.give_back(std::move(room));
      });
      add_gradients(count);
    }
    double loss = 0;
    int64_t right = 0;
    for (size_t g = 0; g < losses_.size(); ++g) {
      loss += losses_[g];
      right += right_[g];
    }
    if (!std::isfinite(loss))
      fail("use a smaller --lr", "the loss is not finite after {} steps",
           epoch * steps_per_epoch() + in_epoch);
    update(epoch * steps_per_epoch() + in_epoch);
    return {loss, right};
  }

  int64_t batch() const { return batch_; }
  Classifier result() const {
    Classifier classifier{spec_, weights_, data_.class_names(), nlohmann::json::object()};
    for (auto i = static_cast<int64_t>(classifier.classes.size()); i < spec_.classes; ++i)
      classifier.classes.push_back(std::to_string(i));
    return classifier;
  }

 private:
  void add_gradients(int64_t count) {
    parallel_for(static_cast<int64_t>(sum_.size()), 4096, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i)
        for (size_t g = 0; g < static_cast<size_t>(count); ++g) sum_[i] += gradients_[g][i];
    });
  }

  void run_group(ClassifierGroup& group, int64_t epoch, std::span<const uint32_t> chosen, int64_t g,
                 std::vector<float>& gradient) {
    const auto indices =
        chosen.subspan(static_cast<size_t>(g * kGroup),
                       std::min<size_t>(kGroup, chosen.size() - static_cast<size_t>(g * kGroup)));
    Tensor x(spec_.input.with_n(static_cast<int64_t>(indices.size())));
    std::vector<float> image(static_cast<size_t>(spec_.input.count()));
    std::vector<int> labels;
    for (size_t i = 0; i < indices.size(); ++i) {
      const uint32_t index = indices[i];
      data_.read(index, image);
      RandomStream stream(options_.seed, Purpose::flip,
                          static_cast<uint64_t>(epoch) * static_cast<uint64_t>(data_.size()) + index);
      const auto reach = static_cast<uint64_t>(2 * options_.shift + 1);
      const auto dx = static_cast<int64_t>(stream.below(reach)) - options_.shift;
      const auto dy = static_cast<int64_t>(stream.below(reach)) - options_.shift;
      const bool flip = options_.flip && stream.below(2) == 1;
      const auto seen = x.view().image(static_cast<int64_t>(i));
      moved(image, spec_.input, dx, dy, flip, seen);
      if (options_.sigma_max > 0) add_noise(stream, seen, image);
      labels.push_back(labels_[index]);
    }
    const auto at = static_cast<size_t>(g);
    std::ranges::fill(gradient, 0.0f);
    group.forward(weights_, x);
    right_[at] = 0;
    const auto found = most_likely(group.probabilities(), spec_.classes);
    for (size_t i = 0; i < labels.size(); ++i) right_[at] += found[i] == labels[i];
    losses_[at] = group.backward(weights_, labels, gradient);
  }

  // noise: room for as many values.
  void add_noise(RandomStream& stream, std::span<float> image, std::span<float> noise) const {
    const double low = std::log(options_.sigma_min), high = std::log(options_.sigma_max);
    const auto sigma = static_cast<float>(std::exp(low + (high - low) * stream.uniform()));
    stream.fill_normal(noise);
    for (size_t i = 0; i < image.size(); ++i) image[i] += sigma * noise[i];
  }

  // A twentieth of the steps warms up, then half a cosine.
  double rate(int64_t step) const {
    const double total = static_cast<double>(steps()), warm = std::max(1.0, total / 20);
    const double at = static_cast<double>(step);
    if (at < warm) return options_.lr * (at + 1) / warm;
    return options_.lr * 0.5 * (1 + std::cos(std::numbers::pi * (at - warm) / std::max(1.0, total - warm)));
  }

  void update(int64_t step) {
    constexpr double kBeta1 = 0.9, kBeta2 = 0.99;
    constexpr float kSmall = 1e-8f;
    const double t = static_cast<double>(step + 1);
    const auto scale = static_cast<float>(1.0 / static_cast<double>(batch_));
    const auto lr = static_cast<float>(rate(step) / (1 - std::pow(kBeta1, t)));
    const auto second = static_cast<float>(1 / (1 - std::pow(kBeta2, t)));
    const auto keep = static_cast<float>(1 - rate(step) * options_.weight_decay);
    const auto b1 = static_cast<float>(kBeta1), b2 = static_cast<float>(kBeta2);
    parallel_for(static_cast<int64_t>(weights_.size()), 4096, [&](int64_t begin, int64_t end) {
      for (auto i = static_cast<size_t>(begin); i < static_cast<size_t>(end); ++i) {
        const float g = sum_[i] * scale;
        m_[i] = b1 * m_[i] + (1 - b1) * g;
        v_[i] = b2 * v_[i] + (1 - b2) * g * g;
        weights_[i] = keep * weights_[i] - lr * m_[i] / (std::sqrt(v_[i] * second) + kSmall);
      }
    });
  }

  const data::Dataset& data_;
  ClassifierTraining options_;
  std::vector<int> labels_;
  ClassifierSpec spec_;
  Rooms rooms_{spec_};
  int64_t batch_ = 0, groups_ = 0;
  std::vector<float> weights_, m_, v_, sum_;   // sum_: of the gradients
  std::vector<std::vector<float>> gradients_;  // one a group of the wave
  std::vector<double> losses_;
  std::vector<int64_t> right_;
};

}  // namespace

Classifier train_classifier(const data::Dataset& data, const ClassifierTraining& options,
                            const std::function<void(const EpochReport&)>& observe,
                            const std::atomic<bool>* stop) {
  Trainer trainer(data, options);
  EpochReport report{.epochs = options.epochs, .steps = trainer.steps()};
  for (int64_t epoch = 0; epoch < options.epochs; ++epoch) {
    const auto order = permutation(RandomStream(options.seed, Purpose::shuffle, static_cast<uint64_t>(epoch)),
                                   static_cast<uint32_t>(data.size()));
    double loss = 0;
    int64_t right = 0;
    for (int64_t i = 0; i < trainer.steps_per_epoch(); ++i) {
      if (stop && *stop) return trainer.result();
      const auto [batch_loss, batch_right] = trainer.step(epoch, i, order);
      loss += batch_loss;
      right += batch_right;
      const auto seen = static_cast<double>((i + 1) * trainer.batch());
      ++report.step;
      report.epoch = epoch + (i + 1 == trainer.steps_per_epoch() ? 1 : 0);
      report.loss = loss / seen;
      report.accuracy = static_cast<double>(right) / seen;
      if (observe) observe(report);
    }
  }
  return trainer.result();
}

}  // namespace mdsm::classify

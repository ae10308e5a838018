#include "classify/classifier.h"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <cstdlib>

#include "classify/training.h"
#include "core/error.h"
#include "core/random.h"
#include "core/threads.h"
#include "temporary_folder.h"

namespace mdsm::classify {
namespace {

// Bars of one of four orientations on noise: learnt in a few passes, and not by counting bright pixels.
class Bars : public data::Dataset {
 public:
  explicit Bars(int64_t n, uint64_t seed, bool labelled = true) : n_(n), seed_(seed), labelled_(labelled) {}
  int64_t size() const override { return n_; }
  Shape image_shape() const override { return {1, 1, 16, 16}; }
  int label(int64_t i) const override { return labelled_ ? static_cast<int>(i % 4) : -1; }
  std::string description() const override { return "bars"; }
  void read(int64_t i, std::span<float> out) const override {
    RandomStream stream(seed_, Purpose::check, static_cast<uint64_t>(i));
    stream.fill_uniform(out, 0, 0.4f);
    const auto at = 4 + static_cast<int>(stream.below(8));
    for (int k = 2; k < 14; ++k) {
      const int places[4] = {at * 16 + k, k * 16 + at, k * 16 + k, k * 16 + 15 - k};
      out[static_cast<size_t>(places[i % 4])] = 1;
    }
  }

 private:
  int64_t n_;
  uint64_t seed_;
  bool labelled_;
};

const ClassifierTraining kTraining = {
    .width = 4, .features = 12, .epochs = 6, .batch = 40, .lr = 5e-3, .seed = 1};

TEST(Classifier, LearnsAndDoesNotDependOnThreads) {
  const Bars data(600, 1), test(400, 2);
  set_thread_count(1);
  const Classifier one = train_classifier(data, kTraining);
  set_thread_count(3);
  const Classifier three = train_classifier(data, kTraining);
  set_thread_count(0);
  EXPECT_EQ(one.weights, three.weights);
  const Accuracy found = accuracy(one, test);
  EXPECT_EQ(found.n, 400);
  EXPECT_GT(found.rate, 0.95);
  ClassifierTraining other = kTraining;
  other.seed = 2;
  EXPECT_NE(train_classifier(data, other).weights, one.weights);
}

// The images of another set with noise, which depends on the image's number alone.
class Noisy : public data::Dataset {
 public:
  Noisy(const data::Dataset& images, float sigma) : images_(images), sigma_(sigma) {}
  int64_t size() const override { return images_.size(); }
  Shape image_shape() const override { return images_.image_shape(); }
  int label(int64_t i) const override { return images_.label(i); }
  std::string description() const override { return "noisy"; }
  void read(int64_t i, std::span<float> out) const override {
    images_.read(i, out);
    std::vector<float> noise(out.size());
    RandomStream(7, Purpose::added_noise, static_cast<uint64_t>(i)).fill_normal(noise);
    for (size_t k = 0; k < out.size(); ++k) out[k] += sigma_ * noise[k];
  }

 private:
  const data::Dataset& images_;
  float sigma_;
};

TEST(Classifier, LearnsToSeeThroughNoise) {
  const Bars data(1200, 1), test(400, 2);
  ClassifierTraining options = kTraining;
  options.epochs = 12;
  const Classifier plain = train_classifier(data, options);
  options.sigma_max = 0.8;
  set_thread_count(1);
  const Classifier noisy = train_classifier(data, options);
  set_thread_count(3);
  EXPECT_EQ(train_classifier(data, options).weights, noisy.weights);
  set_thread_count(0);
  const Noisy seen(test, 0.4f);
  EXPECT_GT(accuracy(noisy, seen).rate, accuracy(plain, seen).rate + 0.1);
  EXPECT_GT(accuracy(noisy, test).rate, 0.8);
  options.sigma_min = 0.5, options.sigma_max = 0.1;
  EXPECT_ERROR(train_classifier(data, options), "--sigma-min 0.5 is above --sigma-max 0.1");
}

// Against differences of the loss along the gradient.
TEST(Classifier, GradientByTheImage) {
  const Bars data(600, 1), test(40, 2);
  const Classifier made = train_classifier(data, kTraining);
  const int64_t n = 40;
  Tensor x(test.image_shape().with_n(n)), grad(x.shape());
  std::vector<int> labels;
  for (int64_t i = 0; i < n; ++i) {
    test.read(i, x.view().image(i));
    labels.push_back(static_cast<int>((i + i / 4) % 4));  // right ones and wrong ones
  }
  label_gradient(made, x.view(), labels, grad.view());
  std::vector<double> norm;
  for (int64_t i = 0; i < n; ++i) {
    double square = 0;
    for (const float value : grad.view().image(i)) square += static_cast<double>(value) * value;
    norm.push_back(std::sqrt(square));
  }
  const auto loss = [&](double far) {  // so far along each gradient
    Tensor moved(x.shape());
    for (int64_t i = 0; i < n; ++i)
      for (size_t k = 0; k < x.view().image(i).size(); ++k)
        moved.view().image(i)[k] =
            x.view().image(i)[k] +
            static_cast<float>(far / norm[static_cast<size_t>(i)] * grad.view().image(i)[k]);
    const Classification found = classify(made, moved.view());
    std::vector<double> each;
    for (size_t i = 0; i < labels.size(); ++i)
      each.push_back(-std::log(
          static_cast<double>(found.probabilities[i * 4 + static_cast<size_t>(labels[i])]) + 1e-30));
    return each;
  };
  constexpr double kStep = 2e-4;
  const auto up = loss(kStep), down = loss(-kStep);
  int compared = 0;
  for (size_t i = 0; i < norm.size(); ++i) {
    if (norm[i] < 0.7) continue;  // sure of it: float32 has no digits left for the difference
    ++compared;
    EXPECT_NEAR((up[i] - down[i]) / (2 * kStep) / norm[i], 1, 0.01) << i;
  }
  EXPECT_GE(compared, 15);
}

TEST(Classifier, StopsWhenAsked) {
  const std::atomic<bool> stop{true};
  int steps = 0;
  train_classifier(
      Bars(80, 1), kTraining, [&](const EpochReport&) { ++steps; }, &stop);
  EXPECT_EQ(steps, 0);
}

TEST(Classifier, NeedsLabels) {
  EXPECT_THROW(train_classifier(Bars(80, 1, false), kTraining), Error);
  const Classifier made = train_classifier(Bars(80, 1), kTraining);
  EXPECT_THROW(accuracy(made, Bars(8, 1, false)), Error);
}

// The same bars under other names and numbers.
class NamedBars : public Bars {
 public:
  NamedBars(int64_t n, std::vector<std::string> names, std::vector<int> numbers)
      : Bars(n, 2), names_(std::move(names)), numbers_(std::move(numbers)) {}
  std::vector<std::string> class_names() const override { return names_; }
  int label(int64_t i) const override { return numbers_[static_cast<size_t>(Bars::label(i))]; }

 private:
  std::vector<std::string> names_;
  std::vector<int> numbers_;
};

TEST(Classifier, ClassesAreComparedByName) {
  Classifier made = train_classifier(Bars(600, 1), kTraining);
  const double rate = accuracy(made, Bars(400, 2)).rate;
  ASSERT_GT(rate, 0.9);
  EXPECT_EQ(accuracy(made, NamedBars(400, {"p", "q", "r", "s"}, {0, 1, 2, 3})).rate, rate);  // numbers only
  made.classes = {"across", "down", "fall", "rise"};
  EXPECT_EQ(accuracy(made, Bars(400, 2)).rate, rate);
  EXPECT_EQ(accuracy(made, NamedBars(400, {"rise", "fall", "down", "across"}, {3, 2, 1, 0})).rate, rate);
  EXPECT_EQ(accuracy(made, NamedBars(400, {"down", "fall"}, {-1, 0, 1, -1})).n, 200);
  EXPECT_GT(accuracy(made, NamedBars(400, {"down", "fall"}, {-1, 0, 1, -1})).rate, 0.9);
  EXPECT_ERROR(accuracy(made, NamedBars(400, {"down", "ring"}, {-1, 0, 1, -1})), "has the class ring");
  EXPECT_ERROR(accuracy(made, NamedBars(400, {}, {0, 1, 2, 7})), "has the class 7");
}

// One gradient a group of 16 would be 128 of 1 MB here.
TEST(Classifier, MemoryDoesNotGrowWithTheBatch) {
#ifdef __SANITIZE_THREAD__
  GTEST_SKIP() << "the sanitizer keeps notes of every access in memory of its own";
#endif
  const auto most = [] {
    rusage used{};
    getrusage(RUSAGE_SELF, &used);
    return used.ru_maxrss;  // kB
  };
  ClassifierTraining options = kTraining;
  options.features = 4096, options.epochs = 1, options.batch = 2048;
  train_classifier(Bars(40, 1), options);
  const auto before = most();
  train_classifier(Bars(2048, 1), options);
  EXPECT_LT(most() - before, 90000);
}

TEST(Classifier, SurvivesItsFile) {
  const TemporaryFolder folder;
  ClassifierTraining options = kTraining;
  options.epochs = 1;
  Classifier made = train_classifier(Bars(120, 1), options);
  made.info = {{"trained", {{"data", "bars"}}}};
  save_classifier(folder.path() / "full", made, io::StoredType::float32);
  const Classifier full = load_classifier(folder.path() / "full");
  EXPECT_EQ(full.weights, made.weights);
  EXPECT_EQ(full.spec, made.spec);
  EXPECT_EQ(full.classes, (std::vector<std::string>{"0", "1", "2", "3"}));
  EXPECT_EQ(full.info, made.info);
  round_to_half(made);
  EXPECT_NE(full.weights, made.weights);
  save_classifier(folder.path() / "half", made, io::StoredType::float16);
  EXPECT_EQ(load_classifier(folder.path() / "half").weights, made.weights);
  const Bars test(37, 5);  // not a multiple of the group
  Tensor x(test.image_shape().with_n(37));
  for (int64_t i = 0; i < 37; ++i) test.read(i, x.view().image(i));
  EXPECT_EQ(classify(made, x).features, classify(made, test).features);
}

TEST(Classifier, RefusesOtherFiles) {
  const TemporaryFolder folder;
  const std::vector<float> one = {1};
  io::write_safetensors(folder.path() / "other", {{"a", {1}, one}}, {{"format", "mdsm"}});
  EXPECT_THROW(load_classifier(folder.path() / "other"), Error);
  Classifier made = train_classifier(Bars(40, 1), {.width = 1, .features = 1, .epochs = 1});
  made.weights[0] = NAN;
  save_classifier(folder.path() / "nan", made, io::StoredType::float32);
  EXPECT_THROW(load_classifier(folder.path() / "nan"), Error);
  made.weights[0] = 0;
  made.classes.pop_back();
  save_classifier(folder.path() / "names", made, io::StoredType::float32);
  EXPECT_THROW(load_classifier(folder.path() / "names"), Error);
}

}  // namespace
}  // namespace mdsm::classify

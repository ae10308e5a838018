#include "classify/network.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"
#include "core/random.h"

namespace mdsm::classify {
namespace {

const ClassifierSpec kSpec = {{1, 2, 11, 9}, 3, 6, 4, 0.5f, 0.5f};

double loss_at(const std::vector<float>& weights, const Tensor& x, const std::vector<int>& labels) {
  ClassifierGroup group(kSpec, x.shape().n);
  group.forward(weights, x);
  double loss = 0;
  for (size_t i = 0; i < labels.size(); ++i)
    loss -= std::log(static_cast<double>(group.probabilities()[i * 4 + static_cast<size_t>(labels[i])]));
  return loss;
}

// Central differences of the loss; at a kink of ReLU or maximum they miss, so a few outliers are allowed.
TEST(ClassifierNetwork, GradientAgreesWithFiniteDifferences) {
  const std::vector<int> labels = {3, 0, 1};
  Tensor x(kSpec.input.with_n(3));
  RandomStream(1, Purpose::check).fill_uniform(x.values(), 0, 1);
  auto weights = initial_weights(kSpec, 2);
  std::vector<float> gradient(weights.size(), 0);
  ClassifierGroup group(kSpec, 3);
  group.forward(weights, x);
  EXPECT_NEAR(group.backward(weights, labels, gradient), loss_at(weights, x, labels), 1e-5);
  int wrong = 0;
  double largest = 0;
  for (size_t i = 0; i < weights.size(); ++i) {
    const float before = weights[i], h = 5e-4f;
    weights[i] = before + h;
    const double up = loss_at(weights, x, labels);
    weights[i] = before - h;
    const double down = loss_at(weights, x, labels);
    weights[i] = before;
    const double slope = (up - down) / (2 * static_cast<double>(h));
    largest = std::max(largest, std::abs(slope));
    wrong += std::abs(slope - static_cast<double>(gradient[i])) > 0.01 * (0.3 + std::abs(slope));
  }
  EXPECT_GT(largest, 0.5);
  EXPECT_LT(wrong, static_cast<int>(weights.size()) / 50) << "of " << weights.size();
}

TEST(ClassifierNetwork, BackwardAddsToTheGradient) {
  Tensor x(kSpec.input.with_n(2));
  RandomStream(1, Purpose::check).fill_uniform(x.values(), 0, 1);
  const auto weights = initial_weights(kSpec, 2);
  std::vector<float> once(weights.size(), 0), on_top(weights.size(), 1);
  ClassifierGroup group(kSpec, 8);
  for (auto* gradient : {&once, &on_top}) {
    group.forward(weights, x);
    group.backward(weights, std::vector<int>{1, 2}, *gradient);
  }
  for (size_t i = 0; i < once.size(); ++i) EXPECT_NEAR(on_top[i], once[i] + 1, 1e-5);
}

TEST(ClassifierNetwork, AnImageDoesNotDependOnItsGroup) {
  Tensor x(kSpec.input.with_n(5));
  RandomStream(7, Purpose::check).fill_uniform(x.values(), 0, 1);
  const auto weights = initial_weights(kSpec, 2);
  ClassifierGroup all(kSpec, 5), one(kSpec, 5);
  all.forward(weights, x);
  one.forward(weights, x.view().images(3, 1));
  for (size_t j = 0; j < 6; ++j) EXPECT_EQ(all.features()[3 * 6 + j], one.features()[j]);
  double sum = 0;
  for (const float p : one.probabilities()) sum += p;
  EXPECT_NEAR(sum, 1, 1e-6);
}

TEST(ClassifierNetwork, RefusesImpossibleSpecs) {
  for (const ClassifierSpec& spec :
       {ClassifierSpec{{1, 1, 7, 32}}, ClassifierSpec{{1, 0, 32, 32}},
        ClassifierSpec{{1, 1, 32, 32}, 16, 128, 1}, ClassifierSpec{{1, 1, 32, 32}, 16, 128, 10, 0, 0}})
    EXPECT_THROW(check(spec), Error);
  EXPECT_NO_THROW(check(kSpec));
}

}  // namespace
}  // namespace mdsm::classify

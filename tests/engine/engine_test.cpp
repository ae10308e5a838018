// The seam's own promises: bad input is an Error with the place in it, for every engine, and engines and
// devices that are not there are refused.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <limits>

#include "core/error.h"
#include "core/threads.h"
#include "engine/registry/registry.h"
#include "engine/registry/torch_loader.h"
#include "engine/support.h"

namespace mdsm::test {
namespace {

using engine::EngineKind;

// The error's text, which must hold `part`.
template <class Body>
void expect_error(const Body& body, ErrorKind kind, const std::string& part) {
  try {
    body();
    ADD_FAILURE() << "no error; expected one with: " << part;
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), kind) << error.what();
    EXPECT_NE(std::string(error.what()).find(part), std::string::npos) << error.what();
    EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
  }
}

const network::Spec kSpec = small_spec();

class EngineInput : public testing::TestWithParam<EngineKind> {
 protected:
  EngineInput() : engine_(engine::make_engine({GetParam()}, network::Parameters::initialised(kSpec, 1))) {}
  std::unique_ptr<engine::TrainableEnergy> engine_;
  Batch batch_{kSpec, 2};
  std::vector<float> energy_ = std::vector<float>(2), residual_ = std::vector<float>(2);
};

TEST_P(EngineInput, WrongShapesAreErrors) {
  const auto run = [&](Shape shape) {
    Tensor x(shape, 0.5f);
    std::vector<float> energy(static_cast<size_t>(shape.n));
    engine_->energy(x, energy);
  };
  run({2, 1, 8, 8});
  for (const Shape& shape : {Shape{2, 3, 8, 8}, Shape{2, 1, 16, 16}, Shape{2, 1, 8, 7}, Shape{0, 1, 8, 8}})
    expect_error([&] { run(shape); }, ErrorKind::failure, shape.text());
}

TEST_P(EngineInput, WrongCountsAreErrors) {
  std::vector<float> three(3);
  Tensor small(kSpec.input(1));
  expect_error([&] { engine_->energy(batch_.x, three); }, ErrorKind::failure, "energy has 3");
  expect_error([&] { engine_->energy_and_gradient(batch_.x, energy_, small); }, ErrorKind::failure, "grad_x");
  expect_error([&] { engine_->objective_gradient(batch_.x, batch_.noisy, three, residual_, energy_); },
               ErrorKind::failure, "weight has 3");
  expect_error([&] { engine_->objective_gradient(batch_.x, small, batch_.weight, residual_, energy_); },
               ErrorKind::failure, "noisy");
  expect_error([&] { engine_->read(engine::StateVector::weights, three); }, ErrorKind::failure, "3 values");
  expect_error([&] { engine_->write(engine::StateVector::ema, three); }, ErrorKind::failure, "3 values");
}

TEST_P(EngineInput, ValuesThatAreNotFiniteAreErrors) {
  for (const float bad : {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
    Tensor x(kSpec.input(2), 0.5f);
    x.view().image(1)[5] = bad;
    Tensor grad_x(x.shape());
    expect_error([&] { engine_->energy(x, energy_); }, ErrorKind::failure, "image 1");
    expect_error([&] { engine_->energy_and_gradient(x, energy_, grad_x); }, ErrorKind::failure, "image 1");
    expect_error([&] { engine_->objective_gradient(batch_.x, x, batch_.weight, residual_, energy_); },
                 ErrorKind::failure, "noisy");
    std::vector<float> weight = {1, bad};
    expect_error([&] { engine_->objective_gradient(batch_.x, batch_.noisy, weight, residual_, energy_); },
                 ErrorKind::failure, "weight");
  }
}

TEST_P(EngineInput, ThreadsDoNotChangeTheResult) {
  std::vector<float> one(2);
  set_thread_count(1);
  engine_->energy(batch_.noisy, one);
  set_thread_count(0);
  engine_->energy(batch_.noisy, energy_);
  if (GetParam() == EngineKind::native) {
    EXPECT_EQ(one, energy_);
  }
  EXPECT_LT(relative_error(one, energy_), 1e-6);
}

INSTANTIATE_TEST_SUITE_P(Engines, EngineInput, testing::ValuesIn(engine::available_engines()),
                         [](const auto& made) { return std::string(to_string(made.param)); });

TEST(Registry, UnknownEnginesAndDevicesAreUsageErrors) {
  const network::Parameters parameters = network::Parameters::initialised(kSpec, 1);
  expect_error([] { from_name<engine::EngineKind>("quick", "engine"); }, ErrorKind::usage, "quick");
  expect_error(
      [&] {
        engine::make_engine({EngineKind::native, "cuda"}, parameters);
      },
      ErrorKind::usage, "cuda");
}

// Throws inside the module: shows that its errors arrive as ours.
TEST(Registry, TorchRefusesDevicesThatAreNotThere) {
  if (!engine::torch_module_present()) GTEST_SKIP() << "built without LibTorch";
  const network::Parameters parameters = network::Parameters::initialised(kSpec, 1);
  for (const char* device : {"", "gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "cuda:99999999999", "cpu:0"})
    expect_error(
        [&] {
          engine::make_engine({EngineKind::torch, device}, parameters);
        },
        ErrorKind::usage, device);
  if (engine::torch_version().find("CUDA") != std::string::npos) return;
  for (const char* device : {"cuda", "cuda:0", "cuda:99"}) {
    expect_error(
        [&] {
          engine::make_engine({EngineKind::torch, device}, parameters);
        },
        ErrorKind::failure, "no CUDA device");
    expect_error(
        [&] {
          engine::make_engine({EngineKind::check, device}, parameters);
        },
        ErrorKind::failure, "no CUDA device");
  }
}

TEST(Registry, BuildsWithoutLibTorchSaySo) {
  if (engine::torch_module_present()) GTEST_SKIP() << "built with LibTorch";
  const network::Parameters parameters = network::Parameters::initialised(kSpec, 1);
  EXPECT_EQ(engine::available_engines(), std::vector{EngineKind::native});
  for (const EngineKind engine : {EngineKind::torch, EngineKind::check})
    expect_error([&] { engine::make_engine({engine}, parameters); }, ErrorKind::failure, "MDSM_TORCH=ON");
}

}  // namespace
}  // namespace mdsm::test

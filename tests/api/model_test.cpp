#include <gtest/gtest.h>
#include <mdsm/mdsm.h>

#include <algorithm>
#include <cmath>
#include <thread>

#include "core/random.h"
#include "network/model_file.h"
#include "temporary_folder.h"

namespace mdsm {
namespace {

Model small_batches(int64_t batch) { return Model("fashion-mnist", {.batch = batch}); }

// A few steps of the fast sampler: enough to tell images apart.
DrawOptions quick() { return {.settings = {{"sampler", "fast"}, {"steps", "6"}}, .progress = {}}; }

Tensor noisy_images(const Model& model, int64_t n) {
  Tensor x(model.images(n));
  for (int64_t k = 0; k < x.shape().count(); ++k)
    x.values()[static_cast<size_t>(k)] = 0.5f + 0.4f * std::sin(0.37f * static_cast<float>(k));
  return x;
}

TEST(ApiModel, ModelsThatComeWithMdsmAreFound) {
  const std::vector<std::string> names = model_names();
  ASSERT_NE(std::ranges::find(names, "fashion-mnist"), names.end());
  for (const std::string& name : names) EXPECT_GT(Model(name).image_shape().count(), 0) << name;
}

TEST(ApiModel, EnergyAndGradientDoNotDependOnTheBatch) {
  Model all("fashion-mnist"), few("fashion-mnist", {.batch = 2});
  const Tensor x = noisy_images(all, 5);
  std::vector<float> energy(5), energy2(5), alone(5);
  Tensor grad(x.shape()), grad2(x.shape());
  all.energy_and_gradient(x, energy, grad);
  few.energy_and_gradient(x, energy2, grad2);
  few.energy(x, alone);
  EXPECT_EQ(energy, energy2);
  EXPECT_EQ(energy, alone);
  EXPECT_TRUE(std::ranges::equal(grad.values(), grad2.values()));
}

TEST(ApiModel, GradientIsTheSlopeOfTheEnergy) {
  Model model("mnist");
  const Tensor x = noisy_images(model, 1);
  std::vector<float> energy(1), low(1), high(1);
  Tensor grad(x.shape()), below(x.shape()), above(x.shape());
  model.energy_and_gradient(x, energy, grad);
  double squares = 0;
  for (const float g : grad.values()) squares += static_cast<double>(g) * g;
  const double step = 0.05 / std::sqrt(squares);
  for (size_t k = 0; k < x.values().size(); ++k) {
    below.values()[k] = x.values()[k] - static_cast<float>(step) * grad.values()[k];
    above.values()[k] = x.values()[k] + static_cast<float>(step) * grad.values()[k];
  }
  model.energy(below, low);
  model.energy(above, high);
  EXPECT_NEAR((high[0] - low[0]) / (2 * step * squares), 1, 0.01);
}

TEST(ApiModel, ASeedGivesTheSameImageInAnyBatch) {
  const std::vector<uint64_t> seeds = seed_range(3, 5);
  Model one = small_batches(5), other = small_batches(2);
  const Samples a = one.sample(seeds, quick()), b = other.sample(seeds, quick());
  EXPECT_TRUE(std::ranges::equal(a.images.values(), b.images.values()));
  EXPECT_EQ(a.energy, b.energy);
  ASSERT_EQ(a.evaluations.size(), 5u);
  for (const float value : a.images.values()) EXPECT_TRUE(value >= 0 && value <= 1);
  EXPECT_FALSE(std::ranges::equal(a.images.view().image(0), a.images.view().image(1)));
}

TEST(ApiModel, SamplesShowTheClassesAskedForBySeed) {
  Model model("cifar10", {.batch = 2});
  const auto draw = [&](uint64_t seed, const std::string& classes) {
    const std::vector<uint64_t> seeds = {seed, seed + 1};
    return model.sample(seeds, {.settings = {{"steps", "6"}, {"classes", classes}}, .progress = {}});
  };
  // In the order of the classifier, seed 12 is the third of the ten.
  const Tensor all = draw(12, "all").images, birds = draw(12, "bird").images, ships = draw(12, "ship").images;
  EXPECT_TRUE(std::ranges::equal(all.view().image(0), birds.view().image(0)));
  EXPECT_FALSE(std::ranges::equal(all.view().image(0), ships.view().image(0)));
  EXPECT_FALSE(std::ranges::equal(all.view().image(1), birds.view().image(1)));
  EXPECT_ERROR(draw(0, "unicorn"), "knows no 'unicorn'");
}

TEST(ApiModel, ProgressRisesToTheTotal) {
  Model model = small_batches(2);
  std::vector<int64_t> done;
  DrawOptions options = quick();
  options.progress = [&](const ProgressReport& report) {
    EXPECT_EQ(report.total, 3);
    done.push_back(report.done);
    return true;
  };
  model.sample(seed_range(0, 3), options);
  EXPECT_TRUE(std::ranges::is_sorted(done));
  EXPECT_GT(done.size(), 6u);
  EXPECT_EQ(done.back(), 3);
}

TEST(ApiModel, FalseCancelsAndTheModelGoesOnWorking) {
  Model model = small_batches(2);
  DrawOptions options = quick();
  int calls = 0;
  options.progress = [&](const ProgressReport&) { return ++calls < 9; };
  EXPECT_THROW(model.sample(seed_range(0, 64), options), Cancelled);
  EXPECT_LE(calls, 10);
  EXPECT_EQ(model.sample(seed_range(0, 1), quick()).images.shape().n, 1);
  options.progress = [](const ProgressReport&) -> bool { throw std::logic_error("the caller's own"); };
  EXPECT_THROW(model.sample(seed_range(0, 1), options), std::logic_error);
}

TEST(ApiModel, DenoisingIsOneStepDownhill) {
  Model model("fashion-mnist");
  const Tensor x = noisy_images(model, 3);
  const Denoised found = model.denoise(x);
  std::vector<float> energy(3);
  Tensor grad(x.shape());
  model.energy_and_gradient(x, energy, grad);
  EXPECT_EQ(found.energy, energy);
  ASSERT_EQ(found.noise.size(), 3u);
  const double variance = model.sigma0() * model.sigma0();
  for (size_t k = 0; k < x.values().size(); ++k)
    ASSERT_NEAR(found.images.values()[k], std::clamp(x.values()[k] - variance * grad.values()[k], 0.0, 1.0),
                1e-6);
}

TEST(ApiModel, CompletionsKeepWhatIsKnown) {
  Model model = small_batches(2);
  Tensor x = noisy_images(model, 3);
  const auto pixels = static_cast<size_t>(model.image_shape().h * model.image_shape().w);
  std::vector<uint8_t> known(pixels, 1);
  std::fill(known.begin() + 300, known.begin() + 500, 0);
  const Samples one = model.inpaint(x, known, seed_range(0, 3), quick());
  // A mask for each image, all equal, says the same; missing pixels are not looked at.
  std::vector<uint8_t> each;
  for (int i = 0; i < 3; ++i) each.insert(each.end(), known.begin(), known.end());
  for (int64_t i = 0; i < 3; ++i)
    for (size_t p = 0; p < pixels; ++p)
      if (!known[p]) x.view().image(i)[p] = 0.123f;
  const Samples again = model.inpaint(x, each, seed_range(0, 3), quick());
  EXPECT_TRUE(std::ranges::equal(one.images.values(), again.images.values()));
  for (int64_t i = 0; i < 3; ++i)
    for (size_t p = 0; p < pixels; ++p) {
      if (known[p]) {
        ASSERT_EQ(one.images.view().image(i)[p], x.view().image(i)[p]);
      }
    }
}

// One valley of width sigma0 around 1.2.
class Valley : public EnergyModel {
 public:
  Valley() : EnergyModel({1, 1, 8, 8}, 0.1) {}

 private:
  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override {
    for (int64_t i = 0; i < x.shape.n; ++i) {
      double sum = 0;
      for (size_t k = 0; k < 64; ++k) {
        const float offset = x.image(i)[k] - 1.2f;
        grad_x.image(i)[k] = offset * 100;
        sum += 50.0 * offset * offset;
      }
      energy[static_cast<size_t>(i)] = static_cast<float>(sum);
    }
  }
};

TEST(ApiModel, EnergiesOfOnesOwnCanBeSampled) {
  Valley energy;
  const Samples samples =
      draw_samples(energy, seed_range(0, 20), {.settings = {{"sampler", "fast"}}, .progress = {}}, 8);
  for (const float value : samples.images.values()) EXPECT_NEAR(value, 1.2, 0.02);  // not clamped
  const Samples spread = draw_samples(
      energy, seed_range(0, 200),
      {.settings = {{"sampler", "langevin"}, {"steps", "500"}, {"jump", "false"}}, .progress = {}});
  double mean = 0, square = 0;
  for (const float value : spread.images.values()) {
    mean += value / 12800.0;
    square += (value - 1.2) * (value - 1.2) / 12800.0;
  }
  EXPECT_NEAR(mean, 1.2, 0.01);
  EXPECT_NEAR(std::sqrt(square), 0.1, 0.01);
}

TEST(ApiModel, SettingsAreCheckedAsOnTheCommandLine) {
  Model model("mnist");
  const auto with = [&](const std::string& name, const std::string& value) {
    model.sample(seed_range(0, 1), {.settings = {{name, value}}, .progress = {}});
  };
  EXPECT_ERROR(with("sampler", "slow"), "slow");
  EXPECT_ERROR(with("no-such", "1"), "no-such");
  EXPECT_ERROR(with("steps", "many"), "many");
  EXPECT_ERROR(with("leapfrogs", "3"), "leapfrog");
  EXPECT_ERROR(model.sample({}), "no seeds");
}

TEST(ApiModel, WhatMakesNoSenseIsRefused) {
  EXPECT_ERROR(Model("no-such-model"), "no-such-model");
  EXPECT_ERROR(Model(""), "no model");
  EXPECT_ERROR(Model("mnist", {.engine = "quick"}), "quick");
  EXPECT_ERROR(Model("mnist", {.batch = 0}), "batch of 0");
  Model model("mnist");
  EXPECT_ERROR(model.denoise(Tensor({1, 3, 32, 32})), "1x3x32x32");
  Tensor bad(model.image_shape());
  bad.values()[7] = NAN;
  EXPECT_ERROR(model.denoise(bad), "not finite");
  EXPECT_ERROR(model.inpaint(Tensor(model.image_shape()), std::vector<uint8_t>(5, 1), seed_range(0, 1)),
               "5 values");
  EXPECT_ERROR(model.inpaint(Tensor(model.image_shape()), std::vector<uint8_t>(784, 255), seed_range(0, 1)),
               "255");
  EXPECT_ERROR(model.inpaint(Tensor(model.image_shape()), std::vector<uint8_t>(784, 1), seed_range(0, 2)),
               "2 seeds");
}

TEST(ApiModel, PicturesAreFittedReadAndWritten) {
  const TemporaryFolder folder;
  Tensor picture({1, 3, 40, 60});
  for (size_t k = 0; k < picture.values().size(); ++k)
    picture.values()[k] = static_cast<float>(k % 256) / 255.0f;
  const std::string path = (folder / "picture.png").string();
  write_png(path, picture);
  const Tensor read = read_picture(path);
  EXPECT_EQ(read.shape(), picture.shape());
  EXPECT_TRUE(std::ranges::equal(read.values(), picture.values()));
  EXPECT_EQ(Model("stacked-mnist").fit(read).shape(), (Shape{1, 3, 32, 32}));
  EXPECT_EQ(Model("mnist").fit(read).shape(), (Shape{1, 1, 40, 60}));
  EXPECT_ERROR(read_picture((folder / "none.png").string()), "none.png");
  EXPECT_ERROR(write_png(path, Tensor({2, 1, 4, 4})), "2x1x4x4");
}

// A U-Net of random weights, as a file.
std::string unet_file(const TemporaryFolder& folder) {
  network::Spec spec;
  spec.network = network::Network::unet;
  spec.head = network::Head::squared_residual;
  spec.channels = 3;
  spec.width = 4;
  spec.levels = 2;
  network::Parameters parameters(spec);
  RandomStream(1, Purpose::initialisation, 0).fill_uniform(parameters.values(), -0.2f, 0.2f);
  network::save_model(folder / "unet.safetensors", parameters, nlohmann::json::object());
  return (folder / "unet.safetensors").string();
}

TEST(ApiModel, ANetworkOfAnySizeTakesPicturesAsTheyAre) {
  const TemporaryFolder folder;
  const std::string file = unet_file(folder);
  Model model(file), tiled(file, {.tile = 44});
  EXPECT_TRUE(model.any_size());
  EXPECT_EQ(model.image_shape(), (Shape{1, 3, 32, 32}));
  Tensor picture({1, 3, 61, 70});
  for (size_t k = 0; k < picture.values().size(); ++k)
    picture.values()[k] = 0.5f + 0.4f * std::sin(0.37f * static_cast<float>(k));
  EXPECT_TRUE(std::ranges::equal(model.fit(picture).values(), picture.values()));
  const Denoised a = model.denoise(picture), b = tiled.denoise(picture);
  EXPECT_EQ(a.images.shape(), picture.shape());
  for (size_t k = 0; k < picture.values().size(); ++k)
    ASSERT_NEAR(a.images.values()[k], b.images.values()[k], 1e-5);
  const std::vector<uint8_t> known(61 * 70, 1);
  const Samples filled = model.inpaint(picture, known, seed_range(0, 1), quick());
  EXPECT_TRUE(std::ranges::equal(filled.images.values(), picture.values()));
  EXPECT_EQ(model.sample(seed_range(0, 2), quick()).images.shape(), (Shape{2, 3, 32, 32}));
  model.set_size(40, 48);
  EXPECT_EQ(model.sample(seed_range(0, 2), quick()).images.shape(), (Shape{2, 3, 40, 48}));
  EXPECT_ERROR(model.denoise(Tensor({1, 1, 32, 32})), "1x1x32x32");
  EXPECT_ERROR(Model("stacked-mnist").set_size(40, 48), "32x32");
  EXPECT_FALSE(Model("stacked-mnist").any_size());
}

TEST(ApiModel, TwoModelsRunSideBySide) {
  std::vector<float> first, second;
  const auto draw = [](std::vector<float>& to) {
    Model model("mnist");
    const Samples samples = model.sample(seed_range(0, 2), quick());
    to.assign(samples.images.values().begin(), samples.images.values().end());
  };
  std::thread other([&] { draw(first); });
  draw(second);
  other.join();
  EXPECT_EQ(first, second);
}

TEST(ApiModel, InfoSaysWhatTheFileSays) {
  const std::string info = Model("fashion-mnist").info();
  EXPECT_NE(info.find("\"trained\""), std::string::npos) << info;
  EXPECT_NE(info.find("\"width\""), std::string::npos) << info;
}

}  // namespace
}  // namespace mdsm

#include "sample/registry.h"

#include <gtest/gtest.h>

#include "sample/analytic_energy.h"
#include "sample/langevin.h"

namespace mdsm::sample {
namespace {
using namespace test;

// A sampler of the table with its options as the command line gives them.
std::unique_ptr<Sampler> resolved(const std::string& name, const std::vector<std::string>& words,
                                  const nlohmann::json& info = nlohmann::json::object()) {
  auto sampler = samplers().at(name).make();
  OptionSet options("test", "");
  options.alternative("sampler", name);
  sampler->declare(options);
  options.common();
  options.parse(words);
  options.choose(name);
  sampler->resolve(options, info);
  return sampler;
}

TEST(Samplers, EachDrawsWithFewSteps) {
  GaussianEnergy energy;
  const auto seeds = seeds_from(0, 3);
  for (const SamplerRow& row : samplers()) {
    const Samples drawn = resolved(row.name, {"--steps", "27"})->draw({energy, seeds});
    EXPECT_EQ(drawn.x.shape(), energy.images(3)) << row.name;
    EXPECT_GT(drawn.gradient_evaluations(), 0) << row.name;
  }
}

TEST(Samplers, TheTableDrawsWhatTheFunctionsDraw) {
  GaussianEnergy energy;
  const auto seeds = seeds_from(0, 3);
  const Samples by_name =
      resolved("langevin", {"--steps", "30", "--eps", "0.1", "--no-jump"})->draw({energy, seeds});
  const Samples by_hand = langevin({energy, seeds}, {.steps = 30}, {0.1, false});
  EXPECT_TRUE(std::ranges::equal(by_name.x.values(), by_hand.x.values()));
}

TEST(Samplers, DefaultsComeFromTheModel) {
  const nlohmann::json info = {{"sampling", {{"steps_hot", 1}, {"steps_cool", 2}, {"steps_end", 3}}}};
  GaussianEnergy energy;
  const auto seeds = seeds_from(0, 1);
  EXPECT_EQ(resolved("annealed", {}, info)->draw({energy, seeds}).steps, 6);
  EXPECT_EQ(resolved("annealed", {"--steps-end", "5"}, info)->draw({energy, seeds}).steps, 8);
}

TEST(Samplers, ANameThatIsNotThereIsAUsageErrorWithTheNames) {
  EXPECT_THROW(samplers().at("gibbs"), Error);
  try {
    samplers().at("gibbs");
  } catch (const Error& error) {
    EXPECT_EQ(error.kind(), ErrorKind::usage);
    EXPECT_NE(error.hint().find("multistep, annealed, langevin, mala, hmc, fast, ode"), std::string::npos)
        << error.hint();
  }
}

}  // namespace
}  // namespace mdsm::sample

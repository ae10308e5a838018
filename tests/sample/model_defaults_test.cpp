#include "sample/model_defaults.h"

#include <gtest/gtest.h>

#include "core/error.h"
#include "sample/analytic_energy.h"
#include "sample/registry.h"

namespace mdsm::sample {
namespace {
using namespace test;
using nlohmann::json;

// multistep for a model that says this about itself, and what is noted of its options.
struct Resolved {
  std::unique_ptr<Sampler> sampler = samplers().at("multistep").make();
  json values;
};
Resolved resolved_multistep(const json& info, const std::vector<std::string>& words) {
  Resolved found;
  OptionSet options("test", "");
  options.alternative("sampler", "multistep");
  found.sampler->declare(options);
  options.common();
  options.parse(words);
  options.choose("multistep");
  take_model_defaults(options, info, "multistep");
  found.sampler->resolve(options, info);
  found.values = options.chosen_json();
  found.sampler->complete(found.values);
  return found;
}

int64_t evaluations(const json& info, const std::vector<std::string>& words) {
  GaussianEnergy energy;
  const auto seeds = seeds_from(0, 1);
  return resolved_multistep(info, words).sampler->draw({energy, seeds}).evaluations.front();
}

TEST(ModelDefaults, AListBecomesWhatAFileSays) {
  EXPECT_EQ(model_defaults("", "--sampling"), json::object());
  EXPECT_EQ(model_defaults("churn=16,hot=10", "--sampling"),
            json({{"multistep", {{"churn", 16.0}, {"hot", 10}}}}));
}

TEST(ModelDefaults, WhatTheSamplerWouldRefuseIsRefused) {
  for (const char* list : {"churn", "churn=", "churn=-1", "churn=nan", "eps=0.1", "=3", "hot=3,", ",",
                           "classes=horse", "guide=a/b", "class-by=../c", "class-by=.c"})
    EXPECT_THROW(model_defaults(list, "--sampling"), Error) << list;
}

TEST(ModelDefaults, TheModelsHoldUnlessTheUserSaysOtherwise) {
  const json info = {{"sampling", model_defaults("steps=7,hot=5", "--sampling")}};
  EXPECT_EQ(evaluations(json::object(), {}), 35);
  EXPECT_EQ(evaluations(info, {}), 13);
  EXPECT_EQ(evaluations(info, {"--hot", "1"}), 9);
}

TEST(ModelDefaults, AGuideIsAName) {
  const auto guide = [](const json& name, const std::vector<std::string>& words) {
    const Resolved found = resolved_multistep({{"sampling", {{"multistep", {{"guide", name}}}}}}, words);
    const std::string named = found.sampler->guide();
    EXPECT_EQ(found.values.contains("guidance"), !named.empty());
    return named;
  };
  EXPECT_EQ(model_defaults("guide=weak,guidance=0.5", "--sampling"),
            json({{"multistep", {{"guide", "weak"}, {"guidance", 0.5}}}}));
  EXPECT_EQ(guide("weak", {}), "weak");
  EXPECT_EQ(guide("weak", {"--guidance", "0"}), "");
  EXPECT_EQ(guide("weak", {"--guide", "some/other"}), "some/other");
  // A path in a file is not followed.
  for (const json& odd :
       {json("/etc/passwd"), json("../weak"), json(".."), json(std::string(101, 'a')), json(3)})
    EXPECT_EQ(guide(odd, {}), "") << odd;
  EXPECT_THROW(guide("", {"--guidance", "0.5"}), Error);
}

TEST(ModelDefaults, FilesMaySayAnything) {
  const json of_others = {{"steps", 7}, {"colour", 3}, {"hot", "many"}, {"jump", json::array()}};
  EXPECT_EQ(evaluations({{"sampling", {{"multistep", of_others}}}}, {}), 11);
  for (const json& odd :
       {json(3), json::array({1}), json({{"multistep", 4}}), json({{"ode", {{"steps", 2}}}})})
    EXPECT_EQ(evaluations({{"sampling", odd}}, {}), 35) << odd;
  EXPECT_THROW(evaluations({{"sampling", {{"multistep", {{"churn", 1e300}}}}}}, {}), Error);
}

}  // namespace
}  // namespace mdsm::sample

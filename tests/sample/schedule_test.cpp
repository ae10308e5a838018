#include "sample/schedule.h"

#include <gtest/gtest.h>

#include <cmath>

#include "core/error.h"

namespace mdsm::sample {
namespace {

TEST(Schedule, DefaultIsThePapers) {
  const auto t = make_schedule({});
  ASSERT_EQ(t.size(), 2700u);
  for (size_t i = 0; i < 500; ++i) EXPECT_EQ(t[i], 100);
  EXPECT_EQ(t[500], 100);
  EXPECT_EQ(t[2499], 1);
  for (size_t i = 501; i < 2500; ++i) EXPECT_NEAR(t[i] / t[i - 1], std::pow(0.01, 1.0 / 1999), 1e-12);
  EXPECT_EQ(t[2500], 1);
  EXPECT_EQ(t[2699], 0);
  for (size_t i = 2501; i < 2700; ++i) EXPECT_NEAR(t[i - 1] - t[i], 1.0 / 199, 1e-12);
}

TEST(Schedule, LinearReplacesTheMiddle) {
  TemperatureOptions options;
  options.annealing = Annealing::linear;
  const auto t = make_schedule(options);
  ASSERT_EQ(t.size(), 2700u);
  for (size_t i = 501; i < 2500; ++i) EXPECT_NEAR(t[i - 1] - t[i], 99.0 / 1999, 1e-9);
  EXPECT_EQ(t[2499], 1);
  EXPECT_EQ(t[2699], 0);
}

TEST(Schedule, ConstantHasOneTemperature) {
  const auto t = make_schedule({Annealing::constant, 3, 1, 2, 3, 4});
  EXPECT_EQ(t, std::vector<double>(9, 3.0));
  EXPECT_EQ(constant_schedule(0, 2), std::vector<double>(2, 0.0));
}

TEST(Schedule, PartsMayBeEmptyOrOneStepLong) {
  EXPECT_EQ(make_schedule({Annealing::exponential, 9, 1, 0, 3, 0}), (std::vector<double>{9, 3, 1}));
  EXPECT_EQ(make_schedule({Annealing::exponential, 9, 1, 1, 1, 1}), (std::vector<double>{9, 1, 0}));
}

TEST(Schedule, NamesGoBothWays) {
  for (const char* name : {"exp", "linear", "constant"})
    EXPECT_STREQ(to_string(from_name<Annealing>(name, "schedule")), name);
  EXPECT_THROW(from_name<Annealing>("cosine", "schedule"), Error);
}

TEST(Schedule, RefusesNonsense) {
  EXPECT_THROW(make_schedule({Annealing::exponential, -1, 1, 1, 1, 1}), Error);
  EXPECT_THROW(make_schedule({Annealing::exponential, INFINITY, 1, 1, 1, 1}), Error);
  EXPECT_THROW(make_schedule({Annealing::exponential, 1, 2, 1, 1, 1}), Error);
  EXPECT_THROW(make_schedule({Annealing::exponential, 1, 0, 1, 1, 1}), Error);
  EXPECT_THROW(make_schedule({Annealing::linear, 1, NAN, 1, 1, 1}), Error);
  EXPECT_THROW(make_schedule({Annealing::linear, 1, 0, 0, 0, 0}), Error);
  EXPECT_THROW(make_schedule({Annealing::linear, 1, 0, -5, 10, 10}), Error);
  EXPECT_THROW(make_schedule({Annealing::linear, 1, 0, INT64_MAX, INT64_MAX, 10}), Error);
  EXPECT_THROW(constant_schedule(1, 0), Error);
}

TEST(Schedule, ReadsTemperaturesFromText) {
  EXPECT_EQ(parse_schedule("# hot\n100\n 10, 1.5 # then\n\n0\r\n", "t.txt"),
            (std::vector<double>{100, 10, 1.5, 0}));
}

TEST(Schedule, NamesTheLineThatIsWrong) {
  for (const char* text : {"1\n2x\n", "1\n-2\n", "1\nnan\n", "1\ninf\n", "1\n1e999\n"}) {
    try {
      parse_schedule(text, "t.txt");
      FAIL() << text;
    } catch (const Error& error) {
      EXPECT_NE(error.message().find("t.txt:2: "), std::string::npos) << error.what();
    }
  }
  EXPECT_THROW(parse_schedule("# nothing\n", "t.txt"), Error);
}

}  // namespace
}  // namespace mdsm::sample

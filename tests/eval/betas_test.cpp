#include "eval/betas.h"

#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace mdsm::eval {
namespace {

TEST(Betas, Schedules) {
  EXPECT_EQ(linear_betas(4), (std::vector<double>{0, 0.25, 0.5, 0.75, 1}));
  const auto betas = exponential_betas(5, 1e-4);
  ASSERT_EQ(betas.size(), 6u);
  EXPECT_EQ(betas.front(), 0);
  EXPECT_EQ(betas.back(), 1);
  for (size_t k = 1; k < 5; ++k) EXPECT_NEAR(betas[k + 1] / betas[k], 10, 1e-9);
  EXPECT_EQ(parse_betas("0.1 # warm\n0.5,0.7\n", "f"), (std::vector<double>{0, 0.1, 0.5, 0.7, 1}));
  EXPECT_EQ(parse_betas("0\n1\n", "f"), (std::vector<double>{0, 1}));
  EXPECT_ERROR(parse_betas("0.5\n0.4\n", "f"), "0.4 after 0.5");
  EXPECT_ERROR(parse_betas("0.5\n2\n", "f"), "a beta of 2");
  EXPECT_ERROR(parse_betas("half\n", "f"), "half is no beta");
  EXPECT_ERROR(parse_betas("# nothing\n", "f"), "no betas");
  EXPECT_ERROR(exponential_betas(0), "0 distributions");
  EXPECT_ERROR(exponential_betas(5, 1.5), "first beta of 1.5");
}

TEST(Betas, AScheduleFromText) {
  BetaSchedule schedule;
  schedule.distributions = 4;
  EXPECT_EQ(schedule.text(), "exp");
  EXPECT_EQ(schedule.betas(), exponential_betas(4));
  schedule.set_text("linear");
  EXPECT_EQ(schedule.kind, BetaSchedule::Kind::linear);
  EXPECT_EQ(schedule.betas(), linear_betas(4));
  const mdsm::TemporaryFolder folder;
  const std::string file = (folder.path() / "betas.txt").string();
  write_file(file, std::string_view("0.25\n0.5\n"));
  schedule.set_text(file);
  EXPECT_EQ(schedule.text(), file);
  EXPECT_EQ(schedule.betas(), (std::vector<double>{0, 0.25, 0.5, 1}));
  schedule.set_text("exp");
  EXPECT_EQ(schedule.text(), "exp");
}

}  // namespace
}  // namespace mdsm::eval

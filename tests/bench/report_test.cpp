#include "bench/report.h"

#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "bench/table.h"

namespace mdsm::bench {
namespace {

using nlohmann::json;

Timing timing(std::vector<double> seconds, double memory) { return {std::move(seconds), memory}; }

BenchResult sample() {
  BenchResult result;
  result.threads = 2;
  result.ours = "mdsm, test";
  result.peer = "PyTorch 9";
  result.isa = "avx2";
  result.peaks = {{"generic", 20}, {"avx2", 100}, {kTilePeak, 1000}};
  const Configuration config = suite(Suite::full)[2];
  result.verifications = {
      {config, "avx2", "PyTorch 9", {{"energy", 1e-7, 1e-4, ""}, {"grad_x", 2e-7, 1e-4, ""}}}};
  StepTimes training;
  training.config = config;
  training.ours = timing({2, 1, 4}, 1e9);
  training.direct = timing({3, 2.5, 5}, 1e9);
  training.one_thread = timing({3.8}, 1e9);
  training.peer = timing({16, 15, 17}, 5.5e9);
  training.profile = {2,
                      {{"rb1.conv_1", engine::Pass::forward, 0.5, 25e9, 1},
                       {"elementwise", engine::Pass::forward, 0.5, 0, 1}}};
  StepTimes langevin = training;
  langevin.task = Task::langevin;
  langevin.peer_input = timing({10}, 5e9);
  result.steps = {training, langevin};
  return result;
}

const Machine kMachine{"2026-01-02", "Some CPU", "AVX2, FMA", 2};

TEST(Report, TableAlignsItsColumns) {
  Table table({"a", "bb"});
  table.row({"long name", "1"});
  table.row({"µ", "22"});
  EXPECT_EQ(table.text(),
            "| a         |  bb |\n"
            "|-----------|----:|\n"
            "| long name |   1 |\n"
            "| µ         |  22 |\n");
}

TEST(Report, TablesHoldWhatWasMeasured) {
  const std::string page = markdown(sample(), kMachine);
  for (const char* wanted :
       {"2026-01-02", "Some CPU", "PyTorch 9", "avx2: 100.0 GFLOP/s", "2.00 s (1.00 s..4.00 s)",
        "16.00 s (15.00 s..17.00 s)", "8.00x", "5.00x", "1.90x", "3.00 s (2.50 s..5.00 s)", "1.50x",
        "1.00 GB", "5.50 GB", "res12 width 64, 128 images 1x32x32", "rb1.conv_1", "50 %", "2.0e-07"})
    EXPECT_NE(page.find(wanted), std::string::npos) << wanted << " is missing in\n" << page;
}

TEST(Report, MaximumLikelihoodHasItsRowWhereItWasMeasured) {
  BenchResult result = sample();
  EXPECT_EQ(markdown(result, kMachine).find("maximum likelihood"), std::string::npos);
  EXPECT_TRUE(to_json(result, kMachine).at("steps")[0].at("likelihood").is_null());
  result.steps[0].likelihood = timing({22, 21, 23}, 1e9);
  const std::string page = markdown(result, kMachine);
  EXPECT_NE(page.find("maximum likelihood with 30 Langevin steps"), std::string::npos) << page;
  EXPECT_NE(page.find("11.00x"), std::string::npos) << page;
  EXPECT_EQ(to_json(result, kMachine).at("steps")[0].at("likelihood_over_ours"), 11);
}

TEST(Report, Bfloat16HasItsTableWhereItWasMeasured) {
  BenchResult result = sample();
  EXPECT_EQ(markdown(result, kMachine).find("## bfloat16"), std::string::npos);
  EXPECT_TRUE(to_json(result, kMachine).at("steps")[0].at("ours_bfloat16").is_null());
  for (StepTimes& times : result.steps) times.bfloat16 = timing({0.8, 0.7, 0.9}, 1.1e9);
  const std::string page = markdown(result, kMachine);
  for (const char* wanted : {"800 ms (700 ms..900 ms)", "2.50x", "20.00x", "12.50x", "1.10 GB", "88 %",
                             "amx, bfloat16: 1000.0 GFLOP/s (the tile peak)"})
    EXPECT_NE(page.find(wanted), std::string::npos) << wanted << " is missing in\n" << page;
  const json steps = to_json(result, kMachine).at("steps");
  const json training = steps[0].at("ours_bfloat16"), langevin = steps[1].at("ours_bfloat16");
  EXPECT_EQ(training.at("float32_over_bfloat16"), 2.5);
  EXPECT_EQ(training.at("peer_over_bfloat16"), 20);
  EXPECT_EQ(training.at("peer_memory_over_bfloat16"), 5);
  EXPECT_EQ(langevin.at("peer_over_bfloat16"), 12.5) << "by x only";
  EXPECT_DOUBLE_EQ(training.at("share_of_tile_peak").get<double>(),
                   flop(suite(Suite::full)[2], Task::training) / 0.8e9 / 1000);
}

TEST(Report, ModesOfThePeerShowTheFastestAndTheBroken) {
  BenchResult result = sample();
  EXPECT_EQ(markdown(result, kMachine).find("Modes of PyTorch"), std::string::npos);
  const Contestant side{"PyTorch", {"/some/python"}};
  result.modes = {{side, "PyTorch 9", "float32", engine::Precision::float32, 0.25, ""},
                  {side, "PyTorch 9", "bfloat16", engine::Precision::bfloat16, 0, "was ended by signal 4"}};
  std::string page = markdown(result, kMachine);
  for (const char* wanted : {"/some/python", "250 ms", "could not run: was ended by signal 4"})
    EXPECT_NE(page.find(wanted), std::string::npos) << wanted << " is missing in\n" << page;
  EXPECT_EQ(page.find("in bold"), std::string::npos) << "there was no choice";

  result.modes.push_back({side, "PyTorch 9", "slow", engine::Precision::bfloat16, 0.5, ""});
  result.steps[0].peer_mode = "PyTorch 9, float32";
  result.steps[0].modes = {{"PyTorch 9, float32", 12, ""}, {"PyTorch 9, slow", 13, ""}};
  result.steps[1].peer_mode = "PyTorch 9, float32";
  result.steps[1].modes = {{"PyTorch 9, float32", 6, ""}, {"PyTorch 9, slow", 0, "no memory"}};
  page = markdown(result, kMachine);
  for (const char* wanted : {"**12.00 s** | ", " 13.00 s |", "**6.00 s**", " no memory |"})
    EXPECT_NE(page.find(wanted), std::string::npos) << wanted << " is missing in\n" << page;
  const json values = to_json(result, kMachine);
  EXPECT_EQ(values.at("peer_modes").size(), 3);
  EXPECT_TRUE(values.at("peer_modes")[1].at("seconds").is_null());
  EXPECT_EQ(values.at("steps")[0].at("peer_mode"), "PyTorch 9, float32");
  EXPECT_EQ(values.at("steps")[1].at("peer_modes")[1].at("problem"), "no memory");
}

TEST(Report, BusyProgramsHaveTheirTable) {
  BenchResult result = sample();
  EXPECT_EQ(markdown(result, kMachine).find("Beside busy programs"), std::string::npos);
  result.busy = {{busy_configuration(), Task::langevin, 2, timing({0.03}, 0), timing({0.02}, 0)}};
  const std::string page = markdown(result, kMachine);
  for (const char* wanted : {"Beside busy programs", "1.50x", "30.0 ms (30.0 ms..30.0 ms)"})
    EXPECT_NE(page.find(wanted), std::string::npos) << wanted << " is missing in\n" << page;
  EXPECT_EQ(to_json(result, kMachine).at("busy")[0].at("all_threads_over_one"), 1.5);
}

TEST(Report, DamagedResultsShow) {
  BenchResult result = sample();
  result.verifications[0].differences[1].relative = 0.5;
  EXPECT_FALSE(result.verified());
  EXPECT_NE(markdown(result, kMachine).find("5.0e-01 WRONG"), std::string::npos);
  result.verifications[0].differences[1].relative = std::numeric_limits<double>::quiet_NaN();
  EXPECT_FALSE(result.verified());
}

TEST(Report, JsonHasTheSameNumbers) {
  const json values = json::parse(to_json(sample(), kMachine).dump());
  const json& step = values.at("steps").at(0);
  EXPECT_EQ(step.at("ours").at("median"), 2);
  EXPECT_EQ(step.at("peer").at("seconds").size(), 3);
  EXPECT_EQ(step.at("peer_over_ours"), 8);
  EXPECT_TRUE(step.at("peer_by_x_only").is_null());
  EXPECT_EQ(values.at("steps").at(1).at("peer_by_x_only_over_ours"), 5);
  EXPECT_DOUBLE_EQ(step.at("gflops").get<double>(), flop(suite(Suite::full)[2], Task::training) / 2e9);
  EXPECT_DOUBLE_EQ(step.at("share_of_peak").get<double>(), step.at("gflops").get<double>() / 100);
  EXPECT_EQ(values.at("verified"), true);
}

}  // namespace
}  // namespace mdsm::bench

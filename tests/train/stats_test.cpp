#include "train/stats.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

#include "temporary_folder.h"

namespace mdsm::train {
namespace {

using nlohmann::json;

StepResult step_of(double loss) {
  StepResult result;
  result.loss = loss;
  result.own = {
      {"loss_quarters", "q", {loss, 2 * loss, 3 * loss, std::numeric_limits<double>::quiet_NaN()}, true},
      {"energy_data", "e", {7 * loss}},
      {"spread", "s", {4 * loss}, true}};
  result.grad_norm = 10 * loss;
  return result;
}

TEST(StatsMeter, GivesMeansSinceTheLastLine) {
  StatsMeter meter;
  for (const double loss : {1.0, 2.0, 6.0}) meter.add(step_of(loss));
  const StatsRecord record = meter.take(3);
  EXPECT_DOUBLE_EQ(record.loss, 3);
  EXPECT_DOUBLE_EQ(record.loss_last, 6);
  EXPECT_DOUBLE_EQ(value_of(record.own, "loss_quarters", 1), 6);
  EXPECT_TRUE(std::isnan(value_of(record.own, "loss_quarters", 3)));
  EXPECT_DOUBLE_EQ(value_of(record.own, "spread"), 12);
  EXPECT_DOUBLE_EQ(value_of(record.own, "energy_data"), 42);  // of the last step
  EXPECT_DOUBLE_EQ(record.grad_norm, 60);
  meter.add(step_of(5));
  EXPECT_DOUBLE_EQ(meter.take(4).loss, 5);
  EXPECT_DOUBLE_EQ(meter.last_mean(), 5);
}

TEST(StatsMeter, GoesThroughJsonBitForBit) {
  StatsMeter meter;
  for (const double loss : {0.1, 1.0 / 3, 1e-17, 12345.678901234567}) meter.add(step_of(loss));
  StatsMeter copy = StatsMeter::from_json({meter.to_json(), {}});
  for (StatsMeter* m : {&meter, &copy}) m->add(step_of(0.7));
  const StatsRecord a = meter.take(5), b = copy.take(5);
  EXPECT_EQ(a.loss, b.loss);
  EXPECT_EQ(value_of(a.own, "loss_quarters", 2), value_of(b.own, "loss_quarters", 2));
  EXPECT_EQ(value_of(a.own, "spread"), value_of(b.own, "spread"));
  EXPECT_TRUE(std::isnan(value_of(b.own, "loss_quarters", 3)));
}

// The means of states that older programs wrote.
TEST(StatsMeter, ReadsTheFirstFormat) {
  StatsMeter meter = StatsMeter::from_json(
      JsonObject::parse(R"({"count": 1, "sum": 3, "quarters": [1, 2, 3, null], "last_mean": null})", {}));
  meter.add(step_of(1));
  const StatsRecord record = meter.take(2);
  EXPECT_DOUBLE_EQ(record.loss, 2);
  EXPECT_DOUBLE_EQ(value_of(record.own, "loss_quarters", 1), 2);
  EXPECT_EQ(meter.to_json().dump(), R"({"count":0,"last_mean":2.0,"quarters":[0.0,0.0,0.0,0.0],"sum":0.0})");
}

TEST(StatsFile, IsReadBackBitForBit) {
  const TemporaryFolder folder;
  const fs::path path = folder / "stats.jsonl";
  StatsMeter meter;
  meter.add(step_of(1.0 / 3));
  StatsRecord record = meter.take(7);
  record.lr = 1e-3 / 3;
  record.seconds = 12.5;
  StatsFile(path).append(record);
  write_file(path, read_text(path) + "{\"step\": 2");  // killed while writing
  const std::vector<StatsRecord> read = read_stats(path);
  ASSERT_EQ(read.size(), 1u);
  EXPECT_EQ(to_json(read[0]).dump(), to_json(record).dump());  // as text: NaN is not equal to itself
  EXPECT_TRUE(std::isnan(value_of(read[0].own, "loss_quarters", 3)));
}

TEST(StatsFile, CuttingDropsLaterLinesAndHalfALine) {
  const TemporaryFolder folder;
  const fs::path path = folder / "stats.jsonl";
  {
    StatsFile file(path);
    for (const int64_t step : {10, 20, 30}) {
      StatsRecord record;
      record.step = step;
      file.append(record);
    }
  }
  const std::string whole = read_text(path);
  write_file(path, whole + "{\"step\": 2");
  cut_stats(path, 100);
  EXPECT_EQ(read_text(path), whole);
  cut_stats(path, 20);
  const std::string two = read_text(path);
  EXPECT_EQ(two, whole.substr(0, two.size()));
  EXPECT_EQ(std::count(two.begin(), two.end(), '\n'), 2);
  cut_stats(path, 0);
  EXPECT_EQ(read_text(path), "");
}

}  // namespace
}  // namespace mdsm::train

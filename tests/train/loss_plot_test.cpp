#include "train/loss_plot.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <regex>

#include "tiny_run.h"

namespace mdsm::train {
namespace {

// Points of each line drawn.
std::vector<int64_t> points_of_lines(const std::string& text) {
  std::vector<int64_t> counts;
  const std::regex path("<path d=\"([^\"]*)\" fill=\"none\"");
  for (std::sregex_iterator at(text.begin(), text.end(), path), end; at != end; ++at) {
    const std::string data = (*at)[1];
    counts.push_back(std::count_if(data.begin(), data.end(), [](char c) { return c == 'M' || c == 'L'; }));
  }
  return counts;
}

TEST(LossPlot, ShowsAllOfAResumedRun) {
  const TemporaryFolder out;
  RunFolder folder = new_folder(out);
  TrainOptions options = tiny_options();
  options.stats_every = 2;
  TinyRun(folder, options).train(6);
  EXPECT_EQ(points_of_lines(read_text(folder.plot())), (std::vector<int64_t>{3, 3, 3, 3, 3, 3}));
  TinyRun(folder, options).train();
  const std::string text = read_text(folder.plot());
  EXPECT_EQ(points_of_lines(text), (std::vector<int64_t>{6, 6, 6, 6, 6, 6}));
  EXPECT_NE(text.find(folder.path().filename().string()), std::string::npos);
  EXPECT_NE(text.find("noise 0.1 to 0.16"), std::string::npos);  // two of eight levels from 0.1 to 3
  EXPECT_NE(text.find("noise 1.8 to 3"), std::string::npos);
}

TEST(LossPlot, LeavesOutTheBeginningOfALongRun) {
  const TemporaryFolder out;
  std::string lines;
  for (int step = 10; step <= 1000; step += 10)
    lines +=
        fmt::format("{{\"step\": {}, \"loss\": 5, \"loss_quarters\": [1, 2, 3, 4], \"lr\": 1e-3}}\n", step);
  write_file(out / "stats.jsonl", lines);
  const std::string text =
      loss_plot(out / "stats.jsonl", "t", make_objective("mdsm")->loss_panel(tiny_options()));
  EXPECT_EQ(points_of_lines(text),
            (std::vector<int64_t>{96, 96, 96, 96, 96, 100}));  // losses from step 50, all rates
}

TEST(LossPlot, HasNoQuartersWhereThereAreNone) {
  const TemporaryFolder out;
  write_file(out / "stats.jsonl",
             "{\"step\": 1, \"loss\": -3, \"loss_quarters\": [null, null, null, null], \"lr\": 1e-3}\n"
             "{\"step\": 2, \"loss\": 4, \"loss_quarters\": [null, null, null, null], \"lr\": 1e-3}\n");
  const std::string text =
      loss_plot(out / "stats.jsonl", "t", make_objective("ml")->loss_panel(tiny_options()));
  EXPECT_EQ(points_of_lines(text), (std::vector<int64_t>{2, 2}));  // also the loss below zero; the rate
  EXPECT_EQ(text.find("noise"), std::string::npos);
}

}  // namespace
}  // namespace mdsm::train

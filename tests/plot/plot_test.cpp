#include "plot/plot.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

namespace mdsm::plot {
namespace {

TEST(Plot, TicksAreRoundAndInside) {
  EXPECT_EQ(round_ticks(0, 100, 5), (std::vector<double>{0, 20, 40, 60, 80, 100}));
  EXPECT_EQ(round_ticks(-1, 1, 4), (std::vector<double>{-1, -0.5, 0, 0.5, 1}));
  for (const double tick : round_ticks(1234.5, 1299.1, 6)) {
    EXPECT_GE(tick, 1234.5);
    EXPECT_LE(tick, 1299.1);
    EXPECT_DOUBLE_EQ(tick, std::round(tick / 10) * 10);
  }
  EXPECT_TRUE(round_ticks(1, 1, 5).empty());
  EXPECT_TRUE(round_ticks(0, INFINITY, 5).empty());
}

// The points of the first line drawn, in the coordinates of the page.
std::vector<std::pair<double, double>> points(const std::string& text) {
  std::smatch path;
  EXPECT_TRUE(std::regex_search(text, path, std::regex("<path d=\"([^\"]*)\" fill=\"none\"")));
  const std::string data = path[1];
  std::vector<std::pair<double, double>> found;
  const std::regex point("([-0-9.]+) ([-0-9.]+)");
  for (std::sregex_iterator at(data.begin(), data.end(), point), end; at != end; ++at)
    found.emplace_back(std::stod((*at)[1]), std::stod((*at)[2]));
  return found;
}

TEST(Plot, PositionsFollowTheValues) {
  const Plot plot{"t", "step", {{"energy", false, {{"", {0, 1, 2}, {10, 30, 20}, "#000", {}, {}}}}}};
  const auto at = points(svg(plot));
  ASSERT_EQ(at.size(), 3u);
  EXPECT_NEAR(at[1].first - at[0].first, at[2].first - at[1].first, 0.2);
  EXPECT_NEAR(at[0].second - at[2].second, at[2].second - at[1].second, 0.2);
  EXPECT_GT(at[0].second, at[1].second);  // up is less on the page
}

TEST(Plot, LogarithmicAxisSpacesDecadesEvenly) {
  const Plot plot{"t", "step", {{"T", true, {{"", {0, 1, 2, 3}, {100, 10, 1, 0}, "#000", {}, {}}}}}};
  const auto at = points(svg(plot));
  ASSERT_EQ(at.size(), 3u);  // 0 has no place on it
  EXPECT_NEAR(at[1].second - at[0].second, at[2].second - at[1].second, 0.2);
}

TEST(Plot, BothAxesCanBeLogarithmic) {
  const Plot plot{"t", "T", {{"E", true, {{"", {1, 10, 100}, {5, 50, 500}, "#000", {}, {}}}}}, true};
  const auto at = points(svg(plot));
  ASSERT_EQ(at.size(), 3u);
  EXPECT_NEAR(at[1].first - at[0].first, at[2].first - at[1].first, 0.2);
  EXPECT_NEAR(at[1].second - at[0].second, at[2].second - at[1].second, 0.2);
  EXPECT_NE(svg(plot).find(">100</text>"), std::string::npos);
}

TEST(Plot, FewDecadesHaveTicksBetweenThem) {
  const Plot plot{"t", "step", {{"loss", true, {{"", {0, 1}, {7, 800}, "#000", {}, {}}}}}};
  const std::string text = svg(plot);
  for (const char* tick : {">10</text>", ">20</text>", ">50</text>", ">100</text>", ">500</text>"})
    EXPECT_NE(text.find(tick), std::string::npos) << tick;
  EXPECT_EQ(text.find(">5</text>"), std::string::npos);  // below the axis
}

TEST(Plot, ThinLinesKeepTheirMeansAndTheirEnd) {
  PlotSeries series;
  for (int i = 1; i <= 11; ++i) series.x.push_back(i), series.y.push_back(i * i);
  thin(series, 5);
  EXPECT_EQ(series.x, (std::vector<double>{1.5, 3.5, 5.5, 7.5, 9.5, 11}));
  EXPECT_EQ(series.y, (std::vector<double>{2.5, 12.5, 30.5, 56.5, 90.5, 121}));
  const std::vector<double> before = series.y;
  thin(series, 5);
  EXPECT_EQ(series.y, before);  // few enough already
}

TEST(Plot, TextIsEscapedAndOddNumbersAreLeftOut) {
  const Plot plot{"a < b & c",
                  "x",
                  {{"y", false, {{"", {0, 1, 2}, {NAN, INFINITY, 5}, "#000", {}, {}}}}, {"none", true, {}}}};
  const std::string text = svg(plot);
  EXPECT_NE(text.find("a &lt; b &amp; c"), std::string::npos);
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(text.find("inf"), std::string::npos);
}

}  // namespace
}  // namespace mdsm::plot

#include "plot/histogram.h"

#include <gtest/gtest.h>

#include <cmath>
#include <regex>

namespace mdsm::plot {
namespace {

// Heights of the first outline above its lowest point, in the order drawn.
std::vector<double> heights(const std::string& text) {
  std::smatch path;
  EXPECT_TRUE(std::regex_search(text, path, std::regex("<path d=\"([^\"]*)\" fill=\"none\"")));
  const std::string data = path[1];
  std::vector<double> found;
  const std::regex point("([-0-9.]+) ([-0-9.]+)");
  double lowest = 0;
  for (std::sregex_iterator at(data.begin(), data.end(), point), end; at != end; ++at) {
    found.push_back(std::stod((*at)[2]));
    lowest = std::max(lowest, found.back());
  }
  for (double& value : found) value = lowest - value;
  return found;
}

TEST(Histogram, BarsAreShares) {
  // Of 8 values 0, 2, 6 lie in the quarters but the last: none, one in four, three in four.
  const std::vector<HistogramGroup> groups{{"a", {0.3, 0.3, 0.6, 0.6, 0.6, 0.6, 0.6, 0.6}}, {"b", {0, 1}}};
  const auto bars = heights(histogram("t", "x", groups, 4));
  ASSERT_EQ(bars.size(), 8u);
  EXPECT_EQ(bars[0], 0);
  EXPECT_EQ(bars[2], bars[3]);
  EXPECT_GT(bars[2], 0);
  EXPECT_NEAR(bars[4] / bars[2], 3, 0.02);
  EXPECT_EQ(bars[6], 0);
}

TEST(Histogram, OddNumbersDoNotSpoilIt) {
  const std::vector<HistogramGroup> groups{{"a", {NAN, INFINITY, 2, 2}}, {"b & c", {}}};
  const std::string text = histogram("t", "x", groups);
  EXPECT_EQ(text.find("nan"), std::string::npos);
  EXPECT_EQ(text.find("inf"), std::string::npos);
  EXPECT_NE(text.find("b &amp; c"), std::string::npos);
  EXPECT_NE(histogram("t", "x", {}).find("</svg>"), std::string::npos);
}

}  // namespace
}  // namespace mdsm::plot

#include "report/neighbour_figure.h"

#include <gtest/gtest.h>

#include "core/base64.h"

namespace mdsm::report {
namespace {

std::string encoded(std::string_view text) { return base64(std::as_bytes(std::span(text))); }

TEST(Base64, KnownTexts) {
  EXPECT_EQ(encoded(""), "");
  EXPECT_EQ(encoded("f"), "Zg==");
  EXPECT_EQ(encoded("fo"), "Zm8=");
  EXPECT_EQ(encoded("foo"), "Zm9v");
  EXPECT_EQ(encoded("foobar"), "Zm9vYmFy");
  EXPECT_EQ(encoded("\xff\xfe"), "//4=");
}

// Two rows of a sample and two neighbours, 20 wide and 50 high.
TEST(NeighbourFigure, WidthAndHeightAreTheirOwn) {
  const std::vector<double> distances{1.25, 2, 3, 4.5};
  const std::string text = neighbour_figure({}, {20, 50}, distances, 2);
  EXPECT_NE(text.find("width=\"92\" height=\"116\" href"), std::string::npos)
      << text;  // 3 x 20, 2 x 50, gaps
  EXPECT_NE(text.find("<text x=\"46\" y=\"82\" text-anchor=\"middle\">1.25</text>"), std::string::npos)
      << text;
  EXPECT_NE(text.find("<text x=\"82\" y=\"148\" text-anchor=\"middle\">4.50</text>"), std::string::npos)
      << text;
}

}  // namespace
}  // namespace mdsm::report

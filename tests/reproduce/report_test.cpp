#include "reproduce/report.h"

#include <gtest/gtest.h>

#include "temporary_folder.h"

namespace mdsm::reproduce {
namespace {

struct ReportTest : testing::Test {
  ReportTest() {
    recipe.name = "modes";
    recipe.title = "Modes <of> it";
    recipe.results = {{"covered", "count.out#/covered", "count.out#/se", "", "966 of 1,000", "a & b", 1},
                      {"half", "count.out#/covered", "", "count.out#/two", "", "", 2}};
    recipe.figures = {{"grid.png", "a \"grid\""}, {"plot.svg", "plot"}, {"none.png", "none"}};
    options.out = folder.path();
    put(folder / "modes/count.out", R"({"covered": 900.04, "se": 0.25, "two": 2})");
    put(folder / "modes/grid.png", "Man");
    put(folder / "modes/plot.svg", "Ma");
  }
  std::string html(bool done, const std::string& why) {
    return html_report({{&recipe, done, why, {{"count", "mdsm modes 'a<b'", 61}}}}, options,
                       {"mdsm 1", "a CPU", "2026-01-01", "mdsm reproduce all"});
  }
  TemporaryFolder folder;
  Recipe recipe;
  ReproduceOptions options;
};

TEST_F(ReportTest, ShowsNumbersFiguresAndCommands) {
  const std::string page = html(true, "");
  for (const char* part :
       {"<td class=\"number\">900.0 ± 0.2</td><td>966 of 1,000</td><td class=\"quiet\">a &amp; b</td>",
        "<td class=\"number\">450.02</td><td>–</td>", "Modes &lt;of&gt; it", "alt=\"a &quot;grid&quot;\"",
        "data:image/png;base64,TWFu\"", "data:image/svg+xml;base64,TWE=\"", "figure none.png is missing",
        "mdsm modes 'a&lt;b'", "1 command, 1 min 01 s", "name=\"viewport\"", "smoke scale"})
    EXPECT_NE(page.find(part), std::string::npos) << part << "\n" << page;
  EXPECT_EQ(page.find("<script"), std::string::npos);
  EXPECT_EQ(page.find("http"), std::string::npos);  // nothing from elsewhere
}

TEST_F(ReportTest, SaysWhatWasNotRun) {
  const std::string page = html(false, "no <data>");
  EXPECT_NE(page.find("Not run to the end: no &lt;data&gt;"), std::string::npos);
  EXPECT_EQ(page.find("966 of"), std::string::npos);
}

TEST_F(ReportTest, ANumberThatIsNotThereIsADash) {
  recipe.results = {{"x", "count.out#/none", "", "", "", ""},
                    {"y", "count.out#/covered", "", "count.out#/none", "", ""}};
  EXPECT_EQ(result_text(recipe.results[0], recipe, options), "–");
  EXPECT_EQ(result_text(recipe.results[1], recipe, options), "–");
}

}  // namespace
}  // namespace mdsm::reproduce

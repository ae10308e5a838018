#include <gtest/gtest.h>

#include <algorithm>

#include "core/json.h"
#include "serve/api.h"
#include "serve/assets.h"

namespace mdsm::serve {
namespace {

using nlohmann::json;

TEST(Routes, AreThoseThatOpenApiDescribes) {
  const json description = parse_json(find_asset("openapi.json")->content);
  ASSERT_TRUE(description.is_object());
  std::vector<std::string> described;
  for (const auto& [path, methods] : description.at("paths").items())
    for (const auto& [method, what] : methods.items()) {
      std::string upper = method;
      std::ranges::transform(upper, upper.begin(), [](unsigned char c) { return std::toupper(c); });
      described.push_back(upper + " " + path);
    }
  std::vector<std::string> routes = route_names();
  std::ranges::sort(routes);
  std::ranges::sort(described);
  EXPECT_EQ(routes, described);
}

TEST(Routes, PathsNameTheirParameters) {
  const json description = parse_json(find_asset("openapi.json")->content);
  for (const auto& [path, methods] : description.at("paths").items())
    for (const auto& [method, what] : methods.items())
      EXPECT_EQ(std::ranges::count(path, '{'),
                static_cast<int64_t>(what.value("parameters", json::array()).size()))
          << method << " " << path;
}

TEST(Assets, AreWhole) {
  const Asset* page = find_asset("index.html");
  ASSERT_NE(page, nullptr);
  EXPECT_TRUE(page->content.starts_with("<!doctype html>"));
  EXPECT_TRUE(page->content.ends_with("</html>\n"));
  EXPECT_EQ(find_asset("nothing.html"), nullptr);
  EXPECT_EQ(find_asset("../index.html"), nullptr);
}

}  // namespace
}  // namespace mdsm::serve

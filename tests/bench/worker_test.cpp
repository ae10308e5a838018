#include "bench/worker.h"

#include <gtest/gtest.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <sstream>

#include "bench/peak.h"
#include "bench/problem.h"
#include "bench/verify.h"
#include "core/files.h"
#include "engine/native/tile_kernels.h"
#include "temporary_folder.h"

namespace mdsm::bench {
namespace {

using nlohmann::json;

Configuration tiny() {
  Configuration config;
  config.spec.network = network::Network::res6;
  config.spec.width = 4;
  config.spec.size = 8;
  config.batch = 2;
  return config;
}

std::vector<json> serve(const std::vector<std::string>& requests) {
  std::stringstream in, out;
  for (const std::string& request : requests) in << request << "\n";
  serve_benchmark(in, out);
  std::vector<json> answers;
  for (std::string line; std::getline(out, line);) answers.push_back(json::parse(line));
  return answers;
}

std::string verify(const fs::path& folder) {
  return json{{"do", "verify"}, {"folder", folder.string()}}.dump();
}

std::string setup(const fs::path& folder, const char* precision = "float32") {
  json request = to_json(tiny());
  request.update({{"do", "setup"},
                  {"folder", folder.string()},
                  {"threads", 1},
                  {"seed", 0},
                  {"lr", 1e-4},
                  {"ema", 0.9},
                  {"eps", 0.02},
                  {"exact", false},
                  {"precision", precision}});
  return request.dump();
}

TEST(Worker, TimesAndVerifies) {
  const TemporaryFolder folder;
  write_problem(folder.path(), tiny(), 0);
  make_folder(folder.path() / "out");
  const auto answers =
      serve({setup(folder.path()), R"({"do": "train", "repeat": 2})", R"({"do": "langevin", "repeat": 2})",
             R"({"do": "profile", "task": "training", "repeat": 1})", verify(folder.path() / "out"),
             R"({"do": "quit"})", R"({"do": "train"})"});
  ASSERT_EQ(answers.size(), 5) << "nothing is answered after quit";
  for (const json& answer : answers) {
    EXPECT_FALSE(answer.contains("error")) << answer;
    EXPECT_GT(answer.at("peak_rss").get<double>(), 1e6);
  }
  EXPECT_GT(answers[1].at("seconds").get<double>(), 0);
  EXPECT_GT(answers[2].at("seconds").get<double>(), 0);
  EXPECT_FALSE(answers[3].at("layers").empty());
  for (const engine::Difference& d : compare_folders(folder.path() / "out", folder.path() / "out", tiny()))
    EXPECT_EQ(d.relative, 0) << d.what;
}

TEST(Worker, BadRequestsAreAnsweredWithErrors) {
  const auto answers = serve({"no json", "{}", R"({"do": "train", "repeat": 1})", R"({"do": "setup"})",
                              R"({"do": "dance"})", setup("/no/such/folder")});
  ASSERT_EQ(answers.size(), 6);
  for (const json& answer : answers) EXPECT_TRUE(answer.at("error").is_string()) << answer;
}

TEST(Verify, DifferencesAreRelativeToTheReference) {
  const TemporaryFolder folder;
  const fs::path a = folder.path() / "a", b = folder.path() / "b";
  const Configuration config = tiny();
  for (const fs::path& path : {a, b}) {
    write_problem(folder.path(), config, 0);
    make_folder(path);
    serve({setup(folder.path()), verify(path)});
  }
  std::string bytes = read_text(b / "grad_x.npy");
  bytes.back() = static_cast<char>(bytes.back() ^ 0x40);  // the exponent of the last value
  write_file(b / "grad_x.npy", bytes);
  for (const engine::Difference& d : compare_folders(a, b, config))
    EXPECT_EQ(d.ok(), d.what != "grad_x") << d.what;
}

TEST(Verify, Bfloat16IsNearButNotWithinTheLimitOfFloat32) {
  if (!engine::native::has_bfloat16()) GTEST_SKIP() << "no bfloat16";
  const TemporaryFolder folder;
  const fs::path whole = folder.path() / "float32", rounded = folder.path() / "bfloat16";
  write_problem(folder.path(), tiny(), 0);
  for (const fs::path& path : {whole, rounded}) {
    make_folder(path);
    for (const json& answer : serve({setup(folder.path(), path.filename().c_str()), verify(path)}))
      EXPECT_FALSE(answer.contains("error")) << answer;
  }
  for (const engine::Difference& d : compare_folders(rounded, whole, tiny(), kBfloat16Tolerance))
    EXPECT_TRUE(d.ok()) << d.what << " " << d.relative;
  EXPECT_FALSE(compare_folders(rounded, whole, tiny())[1].ok()) << "nothing was rounded";
}

TEST(Peak, EveryInstructionSetIsMeasured) {
  const auto peaks = measure_fma_peak(1);
  ASSERT_FALSE(peaks.empty());
  EXPECT_EQ(peaks[0].isa, "generic");
  for (const FmaPeak& peak : peaks) {
    EXPECT_TRUE(std::isfinite(peak.gflops)) << peak.isa;
    EXPECT_GT(peak.gflops, 0.01) << peak.isa;
  }
  EXPECT_GT(peak_in_use(peaks).gflops, 0);
  if (!engine::native::has_matrix_units()) return;
  EXPECT_EQ(peaks.back().isa, kTilePeak);
  EXPECT_GT(peaks.back().gflops, peak_in_use(peaks).gflops);
}

}  // namespace
}  // namespace mdsm::bench

// Features against their definitions on an energy written down, and scores on data of known kinds.
#include "eval/outliers.h"

#include <gtest/gtest.h>

#include "eval/auroc.h"
#include "eval/bowl_energy.h"
#include "eval/list_dataset.h"
#include "temporary_folder.h"

namespace mdsm::test {
namespace {

using Bowl = BowlEnergy;

ListDataset noise_images(int64_t n, double std, uint64_t seed) {
  return ListDataset(noise_tensor(n, std, seed));
}

TEST(Outliers, FeaturesAreTheirDefinitions) {
  Bowl engine;
  const auto images = noise_images(5, 0.3, 1);
  eval::FeatureOptions options;
  options.levels = {0, 0.5};
  options.draws = 200;
  options.kind = eval::ScoreFeatures::both;
  const auto found = eval::outlier_features(engine, images, options);
  ASSERT_EQ(found.score.rows(), 5);
  ASSERT_EQ(found.score.columns, 3);  // the error without noise is the norm again
  for (int64_t i = 0; i < 5; ++i) {
    double squares = 0;
    for (const float value : images.image(i)) squares += static_cast<double>(value) * value;
    const auto at = static_cast<size_t>(i);
    // Without noise, sigma0² grad_x = x; with it, ‖x + n/2‖ nearly; sigma0² a = 1 makes x - x~ + x~ = x.
    EXPECT_NEAR(found.score.row(i)[0], std::log(std::sqrt(squares)), 1e-5);
    EXPECT_NEAR(found.score.row(i)[1], std::log(std::sqrt(squares + 64 * 0.25)), 0.02);
    EXPECT_NEAR(found.score.row(i)[2], std::log(std::sqrt(squares)), 1e-5);  // whatever the noise
    EXPECT_NEAR(found.energy[at], 50 * (squares + 64 * 0.01), 0.02 * 50 * squares);
    EXPECT_NEAR(found.objective[at], 100 * squares, 0.1);
  }
}

TEST(Outliers, BatchMakesNoDifference) {
  Bowl engine;
  const auto images = noise_images(7, 0.3, 1);
  eval::FeatureOptions one, many;
  one.batch = 1, many.batch = 4;
  const auto a = eval::outlier_features(engine, images, one),
             b = eval::outlier_features(engine, images, many);
  EXPECT_EQ(a.energy, b.energy);
  EXPECT_EQ(a.objective, b.objective);
  EXPECT_EQ(a.score.values, b.score.values);
}

// Outliers with weaker contrast have lower energy, the paper's failure; a density of the norms finds them,
// and those with stronger contrast as well.
TEST(Outliers, DensityOfNormsFindsBothSides) {
  Bowl engine;
  eval::FeatureOptions options;
  options.kind = eval::ScoreFeatures::norms;
  const auto fit = eval::outlier_features(engine, noise_images(400, 0.2, 1), options);
  const auto inside = eval::outlier_features(engine, noise_images(200, 0.2, 2), options);
  const eval::OutlierModel model(fit, {.mixture = {.components = 2}, .neighbours = 5});
  const auto ordinary = eval::outlier_scores(inside, model);
  ASSERT_EQ(ordinary.size(), 5u);
  for (const double std : {0.05, 0.4}) {
    const auto strange =
        eval::outlier_scores(eval::outlier_features(engine, noise_images(200, std, 3), options), model);
    const auto area = [&](size_t score) {
      return eval::auroc(ordinary[score].values, strange[score].values).area;
    };
    EXPECT_NEAR(area(0), std < 0.2 ? 0 : 1, 0.1) << std;
    EXPECT_GT(area(2), 0.95) << std;
    EXPECT_GT(area(3), 0.95) << std;
  }
  const auto same =
      eval::outlier_scores(eval::outlier_features(engine, noise_images(200, 0.2, 4), options), model);
  for (size_t score = 0; score < 5; ++score) {
    const auto result = eval::auroc(ordinary[score].values, same[score].values);
    EXPECT_NEAR(result.area, 0.5, 4 * result.error);
  }
}

TEST(Outliers, LevelsFromText) {
  EXPECT_EQ(eval::parse_levels("0,0.05,2"), (std::vector<double>{0, 0.05, 2}));
  EXPECT_EQ(eval::parse_levels("1000"), (std::vector<double>{1000}));
  for (const char* wrong : {"", "0.1,", ",0.1", "0.1 ,0.2", "0.1;0.2", "-1", "1001", "nan"})
    EXPECT_ERROR(eval::parse_levels(wrong), "--noise-levels: '");
}

TEST(Outliers, RefusesNonsense) {
  Bowl engine;
  const auto images = noise_images(3, 0.2, 1);
  eval::FeatureOptions options;
  options.levels = {};
  EXPECT_ERROR(eval::outlier_features(engine, images, options), "0 noise levels");
  options.levels = {-1};
  EXPECT_ERROR(eval::outlier_features(engine, images, options), "noise level of -1");
  options.levels = {0};
  options.kind = eval::ScoreFeatures::errors;
  EXPECT_ERROR(eval::outlier_features(engine, images, options), "without noise are no features");
  options.levels = {0.1};
  const auto found = eval::outlier_features(engine, images, options);
  EXPECT_ERROR(eval::OutlierModel(found, {.mixture = {}, .neighbours = 5}), "5 neighbours among 3");
}

}  // namespace
}  // namespace mdsm::test

// The job of `mdsm outliers`: how well a model tells images of other kinds from its own.
#pragma once

#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/model_use.h"
#include "data/dataset.h"
#include "eval/auroc.h"
#include "eval/outliers.h"

namespace mdsm::app {

struct OutliersOptions {
  ModelUse use;
  std::string inside;                // source of ordinary images
  std::vector<std::string> outside;  // sources of outliers
  data::DataOptions data;            // of all of them, but for the source
  int64_t fit_train = 0;             // so many images of the training part fit them instead; 0 = none
  int64_t fit = 0;                   // ordinary images that only fit the density models; 0 = half of them
  std::string levels =
      "0,0.05,0.1,0.2,0.3,0.5,0.8,1.2,2";  // noise levels of the features; results repeat the text
  eval::FeatureOptions features;           // levels, batch and seed are those of this job
  eval::ScoreOptions scores;               // the seed of the mixture as well
  int64_t seed = 0;                        // of everything random
  std::string out = "outliers";            // folder for outliers.json, roc-*.svg and histogram-*.svg
  bool force = false;                      // replace them
  nlohmann::json recorded;                 // the options as given, kept in the results
};

// One score on one set of outliers.
struct OutliersRow {
  std::string outside;  // source
  eval::ScoreKind score = eval::ScoreKind::energy;
  eval::Auroc auroc;
};

struct OutliersResult {
  OutliersOptions options;
  nlohmann::json parameters;  // those recorded, and the model
  std::string inside;         // descriptions
  std::vector<std::string> outside;
  int64_t compared = 0, fitted = 0;  // ordinary images
  double sigma0 = 0;
  std::vector<OutliersRow> table;
};

OutliersResult run_outliers(const OutliersOptions& options);
nlohmann::json to_json(const OutliersResult& result);  // as in outliers.json
void print(const OutliersResult& result);

}  // namespace mdsm::app

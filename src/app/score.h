// The job of `mdsm score`: fits a detector to images that are as they should be, and scores others with it,
// each one by itself.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/model_use.h"
#include "data/dataset.h"
#include "eval/detector.h"

namespace mdsm::app {

struct FitDetectorOptions {
  ModelUse use;
  data::DataOptions data;  // images that are as they should be
  std::string levels = "0,0.05,0.1,0.2,0.3,0.5,0.8,1.2,2";
  std::string measures = "norms,spectrum,local,detail";
  eval::DetectorOptions detector;  // levels, measures, batch and seeds are those of this job
  int64_t seed = 0;                // of everything random
  std::string out;                 // the detector's file
  bool force = false;
};

struct FitDetectorResult {
  std::string out, images;                         // file; description of the images
  int64_t fitted = 0, scaled = 0, calibrated = 0;  // images: for the densities, their scale, the threshold
  double rate = 0, threshold = 0;
  nlohmann::json parameters;
};

FitDetectorResult fit_detector(const FitDetectorOptions& options);
nlohmann::json to_json(const FitDetectorResult& result);
void print(const FitDetectorResult& result);

struct ScoreOptions {
  std::string detector;
  std::vector<std::string> images;  // files, folders, "-" for a list of them on standard input; or none, and
  data::DataOptions data;           // a source; its fitting is the detector's
  ModelUse use;                     // no model: that of the detector
  std::string heatmap;              // folder for pictures that show where; empty: none
  bool force = false;
};

// Either a score or what is wrong with the file.
struct ScoredImage {
  std::string image;
  std::optional<eval::ImageScore> found;
  std::string problem;
  std::string heatmap;  // the picture's file, where one was asked for

  const char* verdict() const { return !found ? "unreadable" : found->outlier ? "outlier" : "good"; }
};

struct ScoreResult {
  nlohmann::json parameters;
  double rate = 0, threshold = 0;
  std::vector<ScoredImage> images;

  int64_t outliers() const;
  int64_t unreadable() const;
};

// told: every image as soon as it is known, in order; may be empty.
ScoreResult run_score(const ScoreOptions& options, const std::function<void(const ScoredImage&)>& told = {});
nlohmann::json to_json(const ScoreResult& result);

// Lines for people and for programs; with newline.
std::string table_head();
std::string table_row(const ScoredImage& one);
std::string table_end(const ScoreResult& result);
std::string csv_head();
std::string csv_row(const ScoredImage& one);

}  // namespace mdsm::app

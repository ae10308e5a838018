// What `mdsm data` shows: what a source of images holds, and which sources are known by name.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/files.h"
#include "data/summary.h"

namespace mdsm::app {

struct DataOptions {
  data::DataOptions data;
  std::string sheet;  // PNG file for a contact sheet; empty = none
  int64_t columns = 16, rows = 8, scale = 1;
  std::string npz;  // file for the images as an array; empty = none
  bool force = false;
};

struct DataResult {
  std::string description;
  data::DatasetSummary summary;
  std::vector<std::string> classes;  // names of the labels 0, 1, ...; may be empty
  std::string sheet, npz;
};

DataResult run_data(const DataOptions& options);
nlohmann::json to_json(const DataResult& result);
void print(const DataResult& result);

// A source that has a name.
struct KnownSource {
  std::string name, what, how_to_get;
  std::optional<fs::path> path;    // where it was found
  std::vector<fs::path> searched;  // where it was looked for; empty where it needs no files
};

std::vector<KnownSource> known_sources();
nlohmann::json to_json(const std::vector<KnownSource>& sources);
void print(const std::vector<KnownSource>& sources);

}  // namespace mdsm::app

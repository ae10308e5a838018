// The job of `mdsm landscape`: the energy between pictures. Along the straight line from the first to the
// second, and on the plane through them and a third, or a random direction, with the ways of Langevin chains
// on it.
#pragma once

#include <array>
#include <atomic>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/model_use.h"

namespace mdsm::app {

struct LandscapeOptions {
  std::vector<std::string> images;  // two or three files, made to fit the model
  ModelUse use;
  int64_t points = 41;     // along the line
  int64_t grid = 25;       // points a side of the plane
  int64_t chains = 2;      // from each picture
  int64_t steps = 100;     // of each chain
  double eps = 0.02;       // their step size
  double temperature = 1;  // and temperature
  int64_t seed = 0;        // of the chains and of a random direction
  std::string out;         // a JSON file; empty: none
  bool force = false;
};

// Places on the plane: the first picture is (0,0), the second (1,0).
using Place = std::array<double, 2>;

struct Landscape {
  nlohmann::json parameters;
  std::vector<std::string> pictures;       // as given
  std::vector<Place> places;               // of the pictures
  std::vector<double> at, line;            // places along the line, 0 to 1, and their energies
  std::vector<double> across, upwards;     // coordinates of the plane's columns and rows
  std::vector<std::vector<double>> plane;  // energies, row by row
  std::vector<std::vector<Place>> chains;  // ways on the plane, as their shadows fall on it
};

// Throws where a stop ended it.
Landscape run_landscape(const LandscapeOptions& options, const std::atomic<bool>& stop);
nlohmann::json to_json(const Landscape& found);
void print(const Landscape& found);

}  // namespace mdsm::app

// What lies under the root, which is the working directory: models, runs with their curves and previews,
// detectors, data. Places are relative to it, as on a command line that is typed there.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/files.h"

namespace mdsm::serve {

// What a name in a request stands for, as a word of a command line; each throws where there is no such thing.
std::string model_place(const std::string& name);  // a bundled name, models/FILE, runs/RUN or a file of a run
std::string run_place(const std::string& name);    // RUN or runs/RUN
std::string data_place(const std::string& name);   // the name of a source, or a folder or file of data/
std::string detector_place(const std::string& name);      // of detectors/, without ending
std::string new_detector_place(const std::string& name);  // makes the folder

nlohmann::json model_list();
nlohmann::json run_list();  // facts of each; of a run that cannot be read its name and "error"
nlohmann::json detector_list();
nlohmann::json data_list();
// Options, statistics, previews and checkpoints. Throws where there is no such run.
nlohmann::json run_facts(const std::string& run);
// The lines of stats.jsonl from this one on: [{...}], at most kMostLines of them spread over the run.
constexpr size_t kMostLines = 1000;
nlohmann::json run_curve(const std::string& run);
// Scores of good images, in order, and the threshold.
nlohmann::json detector_facts(const std::string& name);
// What a sampler does with a model where nothing is said: its options by name.
nlohmann::json sampler_defaults(const std::string& sampler, const std::string& model);

}  // namespace mdsm::serve

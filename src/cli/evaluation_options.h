// What the commands that measure samples share: how classifiers and samples are named, and how measures are
// printed.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "core/files.h"

namespace mdsm::cli {

// A file as it is; a bundled name (fashion-mnist, mnist) as the file classifier-NAME that ships. Throws with
// the names there are when neither exists.
fs::path classifier_path(const std::string& given);
// The bundled name that belongs to a data source ("mnist:/a/folder" is mnist). Throws when there is none.
std::string default_classifier(const std::string& source);

// A folder of mdsm sample stands for the samples.npy inside.
struct SampleSource {
  std::string source;  // for open_dataset()
  std::string seeds;   // as samples.json has them, where it does
};
SampleSource sample_source(const std::string& given);

// The result of mdsm evaluate for people.
void print_evaluation(const nlohmann::json& found);

}  // namespace mdsm::cli

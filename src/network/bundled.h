// The small trained files that ship with the program. They lie in a folder `models`: the one MDSM_MODELS
// names, else the one that comes with the program (core/resources.h).
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "core/files.h"

namespace mdsm::network {

inline constexpr std::string_view kClassifierPrefix = "classifier-";  // of files of mdsm classifier
inline constexpr std::string_view kGuidePrefix = "guide-";  // of models that are there to guide others

// Folders that are looked at, first to last.
std::vector<fs::path> bundled_folders();
// NAME.safetensors of the first folder that has it.
std::optional<fs::path> find_bundled(const std::string& name);
// Names of all files found, in order, each once.
std::vector<std::string> list_bundled();
// Those of models to be used by themselves: neither classifiers nor guides.
std::vector<std::string> list_bundled_models();

}  // namespace mdsm::network

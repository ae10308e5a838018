// The table of data sources: public sets that are known by name, and formats that a path is recognised by.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/registry.h"
#include "data/source.h"

namespace mdsm::data {

// What ships, and what a program has added.
Registry<Source>& sources();

// Names that --data takes without a path: "fashion-mnist, mnist, ...".
std::string source_names();
// What --data takes as a path: "an .npy array", ...
std::vector<std::string> file_kinds();
// The source that a path belongs to; null where there is none.
const Source* recognise(const fs::path& path);

// Folders that are searched for the source, first to last: $MDSM_DATA/<folder>, ./data/<folder>,
// /usr/share/datasets/<folder>, ~/.cache/mdsm/<folder>.
std::vector<fs::path> search_folders(const Source& source);
// The first of them that holds the source's files.
std::optional<fs::path> locate(const Source& source);
// Whether its name alone can be read.
bool at_hand(const Source& source);

}  // namespace mdsm::data

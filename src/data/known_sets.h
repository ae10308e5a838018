// The public data sets known by name: where they are looked for, and how people get them.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "core/files.h"

namespace mdsm::data {

struct KnownSet {
  std::string name;
  std::string what;                  // one line about its content
  std::string how_to_get;            // for messages and `mdsm data --list`
  std::string files;                 // name of the set whose files it is made from (itself for most)
  std::vector<std::string> classes;  // names of the labels, where the files do not tell
};

const std::vector<KnownSet>& known_sets();
const KnownSet* find_known_set(const std::string& name);

// Folders that are searched for the set, first to last: $MDSM_DATA/<name>, ./data/<name>,
// /usr/share/datasets/<name>, ~/.cache/mdsm/<name>.
std::vector<fs::path> search_folders(const KnownSet& set);
// The first of them that holds the set's files.
std::optional<fs::path> locate(const KnownSet& set);

}  // namespace mdsm::data

// Classes that files of an archive name: WebDataset's KEY.cls, and dataset.json of EDM and StyleGAN. Internal
// to src/data.
#pragma once

#include <cstddef>
#include <cstdint>
#include <map>
#include <string>
#include <vector>

namespace mdsm::data {

using LabelsByName = std::map<std::string, int32_t>;

// Of a .cls file; name: for messages.
int32_t parse_class(const std::vector<std::byte>& bytes, const std::string& name);

// {"labels": [["00000/img00000000.png", 6], ...]}, or null there, which is none.
LabelsByName parse_labels(const std::vector<std::byte>& bytes, const std::string& name);

}  // namespace mdsm::data

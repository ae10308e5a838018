// One batch of the CIFAR sets in their Python version: a pickled dictionary with an array and a list of
// labels.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace mdsm::data {

struct CifarBatch {
  std::vector<uint8_t> pixels;  // (N,3,32,32)
  std::vector<int32_t> labels;  // (N)
};

// label_key: "labels", or "fine_labels" of CIFAR-100. classes: labels lie below.
CifarBatch read_cifar_pickle(std::span<const std::byte> file, const std::string& label_key, int64_t classes,
                             const std::string& name);
// The list of texts that a dictionary (batches.meta, meta) has under a key.
std::vector<std::string> read_cifar_names(std::span<const std::byte> file, const std::string& key,
                                          const std::string& name);

}  // namespace mdsm::data

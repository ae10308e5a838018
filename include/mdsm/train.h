// Training on images of one's own.
//
//   class Scans : public mdsm::Dataset { ... };
//   mdsm::Trained run = mdsm::train_model(Scans(), {.settings = {{"width", "16"}, {"steps", "2400"}}});
//   mdsm::Model model(run.model);
#pragma once

#include <mdsm/dataset.h>
#include <mdsm/error.h>
#include <mdsm/progress.h>
#include <mdsm/settings.h>
#include <cstdint>
#include <string>

namespace mdsm {

struct TrainOptions {
  Settings settings;  // options of `mdsm train` but for the data's: net, width, steps, batch, lr, ...
  std::string outdir = "runs";      // where the numbered run folder is made
  std::string name = "own-images";  // what the data is called in folder and files
  std::string resume;  // a run folder to go on with, given the same images; outdir and name are its own
  const Dataset* test = nullptr;  // for the previews; without it the training images
  OnProgress progress;            // may be empty; false saves and stops
};

struct Trained {
  std::string folder, model;  // the run folder; the model file in it, averaged weights
  int64_t step = 0, steps = 0;
  bool finished() const { return step >= steps; }
};

// Images are square, a multiple of 8 pixels wide (16 for res34). The run is the same as one of
// `mdsm train`: same folder, same bits.
Trained train_model(const Dataset& images, const TrainOptions& options = {});

}  // namespace mdsm

// The data options of the command line, declared once for every command that reads images.
#pragma once

#include "core/options.h"
#include "data/dataset.h"

namespace mdsm::data {

struct DeclareData {
  bool source = true;  // --data; a command that takes the source by place declares it itself
  bool flip = false;   // --flip, for training
  // --limit takes a random subset, not the first images: for commands that measure.
  bool random_limit = false;
  bool apart = false;  // --colour apart, for commands that compare pictures
};

// Declares --data --split --limit --crop --resize --pad --colour (and --flip) in the group "Data". The seed
// of DataOptions is the caller's to set.
void declare_data_options(OptionSet& options, DataOptions& data, const DeclareData& which = {});

}  // namespace mdsm::data

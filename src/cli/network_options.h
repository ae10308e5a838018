// The options that name a network by hand, for commands that take either these or a model file.
#pragma once

#include <string>

#include "core/options.h"
#include "model/spec.h"

namespace mdsm::cli {

struct NetworkOptions {
  std::string network = "res12", head = "quadratic";
  int64_t width = Spec().width, channels = Spec().channels, size = Spec().size;

  void declare(OptionSet& options);
  // A usage error when one of them was given beside `--other`, which names the network already.
  void exclude(const OptionSet& options, const std::string& other) const;
  Spec spec() const;  // checked
};

}  // namespace mdsm::cli

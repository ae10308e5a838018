// The options that name a network by hand, for commands that take either these or a model file.
#pragma once

#include <string>

#include "core/options.h"
#include "network/spec.h"

namespace mdsm::app {

struct NetworkOptions {
  network::Network network = network::Spec().network;
  network::Head head = network::Spec().head;
  int64_t levels = network::Spec().levels, blocks = network::Spec().blocks;
  network::Activation activation = network::Spec().activation;
  int64_t width = network::Spec().width, channels = network::Spec().channels, size = network::Spec().size;

  void declare(OptionSet& options);
  // A usage error when one of them was given beside `--other`, which names the network already.
  void exclude(const OptionSet& options, const std::string& other) const;
  // Checked. options: those declared, which tell whether a head was given.
  network::Spec spec(const OptionSet& options) const;
};

}  // namespace mdsm::app

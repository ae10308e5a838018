#include "app/network_options.h"

#include "core/error.h"

namespace mdsm::app {

void NetworkOptions::declare(OptionSet& options) {
  options.add("net", network, "network");
  options.add("width", width, "channels after the first convolution, a multiple of 4").range(4, 4096);
  options.add("channels", channels, "channels of the images").range(1, 1024);
  options.add("size", size, "pixels along each side, a multiple of 8 (res34: 16)").range(8, 4096);
  options.add("head", head, "head");
}

void NetworkOptions::exclude(const OptionSet& options, const std::string& other) const {
  for (const char* name : {"net", "width", "channels", "size", "head"})
    if (options.given(name))
      fail_usage("give one of the two", "--{} and --{} exclude each other", other, name);
}

network::Spec NetworkOptions::spec() const {
  network::Spec spec;
  spec.network = network;
  spec.head = head;
  spec.width = width;
  spec.channels = channels;
  spec.size = size;
  validate(spec);
  return spec;
}

}  // namespace mdsm::app

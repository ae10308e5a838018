#include "app/network_options.h"

#include "core/error.h"

namespace mdsm::app {

void NetworkOptions::declare(OptionSet& options) {
  options.add("net", network, "network").choices({"res6", "res12", "res18", "res34"});
  options.add("width", width, "channels after the first convolution, a multiple of 4").range(4, 4096);
  options.add("channels", channels, "channels of the images").range(1, 1024);
  options.add("size", size, "pixels along each side, a multiple of 8 (res34: 16)").range(8, 4096);
  options.add("head", head, "head").choices({"quadratic", "linear"});
}

void NetworkOptions::exclude(const OptionSet& options, const std::string& other) const {
  for (const char* name : {"net", "width", "channels", "size", "head"})
    if (options.given(name))
      fail_usage("give one of the two", "--{} and --{} exclude each other", other, name);
}

network::Spec NetworkOptions::spec() const {
  network::Spec spec;
  spec.network = network::network_from(network);
  spec.head = network::head_from(head);
  spec.width = width;
  spec.channels = channels;
  spec.size = size;
  validate(spec);
  return spec;
}

}  // namespace mdsm::app

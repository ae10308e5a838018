#include "app/network_options.h"

#include "core/error.h"

namespace mdsm::app {

void NetworkOptions::declare(OptionSet& options) {
  options.add("net", network, "network");
  options.add("width", width, "channels after the first convolution, a multiple of 4").range(4, 4096);
  options.add("channels", channels, "channels of the images").range(1, 1024);
  options.add("size", size, "pixels along each side, a multiple of 8 (res34: 16, unet: any)").range(1, 4096);
  options.add("head", head,
              "head; unet has squared-residual (its default), inner-product, predicted-noise, and without "
              "an energy denoiser and residual-denoiser");
  options.add("levels", levels, "unet: sizes of maps, each half of the one before").range(1, 8);
  options.add("blocks", blocks, "unet: residual blocks of a level, each way").range(1, 16);
  options.add("activation", activation, "unet: what stands between convolutions");
}

void NetworkOptions::exclude(const OptionSet& options, const std::string& other) const {
  for (const char* name : {"net", "width", "channels", "size", "head", "levels", "blocks", "activation"})
    if (options.given(name))
      fail_usage("give one of the two", "--{} and --{} exclude each other", other, name);
}

network::Spec NetworkOptions::spec(const OptionSet& options) const {
  network::Spec spec;
  spec.network = network;
  spec.head = head;
  spec.width = width;
  spec.channels = channels;
  spec.size = size;
  if (network == network::Network::unet) {
    spec.levels = levels;
    spec.blocks = blocks;
    spec.activation = activation;
    if (!options.given("head")) spec.head = network::Head::squared_residual;
  }
  validate(spec);
  return spec;
}

}  // namespace mdsm::app

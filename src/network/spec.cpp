#include "network/spec.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/json.h"
#include "network/graph.h"
#include "network/layers.h"

namespace mdsm::network {

using nlohmann::json;

const std::vector<std::string>& paper_blocks(Network network) {
  static const std::map<Network, std::vector<std::string>> names = {
      {Network::res6, {"rb1", "rb2", "rb3"}},
      {Network::res12, {"rb1", "rbc1", "rb2", "rbc2", "rb3", "rbc3"}},
      {Network::res18, {"rb1", "rbc1", "rbc11", "rb2", "rbc2", "rbc22", "rb3", "rbc3", "rbc33"}},
      {Network::res34,
       {"rb1", "rbc1", "rbc11", "rb2", "rbc2", "rbc22", "rbc222", "rb3", "rbc3", "rbc33", "rbc333", "rbc3333",
        "rbc33333", "rb4", "rbc4", "rbc44"}}};
  return names.at(network);
}

namespace {

void validate_paper(const Spec& spec) {
  const int64_t step = spec.network == Network::res34 ? 16 : 8;
  if (spec.size < step || spec.size % step != 0 || spec.size > 4096)
    fail_usage(fmt::format("{} takes a multiple of {} (pad, crop or resize the images)",
                           to_string(spec.network), step),
               "image size {} is not supported", spec.size);
  if (spec.rows != 0 || spec.columns != 0)
    fail_usage("only --net unet takes images of any shape", "{} takes square images",
               to_string(spec.network));
  if (is_image_head(spec.head))
    fail_usage("use quadratic or linear, or --net unet", "{} has no head {}", to_string(spec.network),
               to_string(spec.head));
}

void validate_unet(const Spec& spec) {
  if (!is_image_head(spec.head))
    fail_usage("use squared-residual, inner-product, predicted-noise, denoiser or residual-denoiser",
               "unet has no head {}", to_string(spec.head));
  if (spec.bowl != 0)
    fail_usage("leave it out; the energies of unet have it built in", "bowl {} is not for unet", spec.bowl);
  if (spec.levels < 1 || spec.levels > 8)
    fail_usage("use 1 to 8", "{} levels are not supported", spec.levels);
  if (spec.blocks < 1 || spec.blocks > 16)
    fail_usage("use 1 to 16", "{} blocks a level are not supported", spec.blocks);
  const Shape image = spec.input(1);
  if (std::min({spec.size, image.h, image.w}) < 1 || std::max({spec.size, image.h, image.w}) > 65536)
    fail_usage("use 1 to 65536 pixels", "images of {}x{} are not supported", image.h, image.w);
}

}  // namespace

void validate(const Spec& spec) {
  if (spec.width < 4 || spec.width % 4 != 0 || spec.width > 4096)
    fail_usage("use a multiple of 4 from 4 to 4096", "width {} is not supported", spec.width);
  if (spec.channels < 1 || spec.channels > 1024)
    fail_usage("use 1 to 1024", "{} image channels are not supported", spec.channels);
  spec.network == Network::unet ? validate_unet(spec) : validate_paper(spec);
  if (!(spec.sigma0 >= 1e-6) || spec.sigma0 > 100)  // its fourth power must not vanish
    fail_usage("use a value such as 0.1", "sigma0 {} is not supported", spec.sigma0);
  if (!(spec.bowl >= 0) || spec.bowl > 1)
    fail_usage("use a value from 0 (the paper) to 1", "bowl {} is not supported", spec.bowl);
}

std::vector<ParameterInfo> parameter_layout(const Spec& spec) {
  return parameter_layout(make_graph(spec), spec.input(1));
}

int64_t parameter_count(const Spec& spec) {
  const auto layout = parameter_layout(spec);
  return layout.back().offset + layout.back().count;
}

int64_t multiply_adds(const Spec& spec) {
  int64_t total = 0;
  for (const LayerInfo& layer : layers(spec)) total += layer.multiply_adds;
  return total;
}

json to_json(const Spec& spec) {
  json values = {{"network", to_string(spec.network)},
                 {"width", spec.width},
                 {"channels", spec.channels},
                 {"size", spec.size},
                 {"head", to_string(spec.head)},
                 {"sigma0", spec.sigma0},
                 {"bowl", spec.bowl}};
  if (spec.network == Network::unet) {
    values["levels"] = spec.levels;
    values["blocks"] = spec.blocks;
    values["activation"] = to_string(spec.activation);
    if (spec.rows > 0) values["rows"] = spec.rows;
    if (spec.columns > 0) values["columns"] = spec.columns;
  }
  return values;
}

Spec spec_from_json(const json& values, const std::string& where) {
  Spec spec;
  try {
    const JsonObject from(values, [](const std::string& what) { fail("", "{}", what); });
    spec.network = from_name<Network>(from.get<std::string>("network"), "network");
    spec.width = from.get<int64_t>("width");
    spec.channels = from.get<int64_t>("channels");
    spec.size = from.get<int64_t>("size");
    spec.head = from_name<Head>(from.get<std::string>("head"), "head");
    spec.sigma0 = from.get<double>("sigma0");
    spec.bowl = from.get_or("bowl", 0.0);  // older files have none
    if (spec.network == Network::unet) {
      spec.levels = from.get<int64_t>("levels");
      spec.blocks = from.get<int64_t>("blocks");
      spec.activation = from_name<Activation>(from.get<std::string>("activation"), "activation");
      spec.rows = from.get_or("rows", int64_t{0});
      spec.columns = from.get_or("columns", int64_t{0});
    }
    validate(spec);
  } catch (const Error& error) {
    fail("the file is damaged or was written by another program", "{}: bad network spec: {}", where,
         error.message());
  }
  return spec;
}

}  // namespace mdsm::network

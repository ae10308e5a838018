#include "app/training_start.h"

#include <algorithm>
#include <string_view>

#include "core/error.h"
#include "core/json.h"
#include "network/widen.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

// Option of mdsm train, and the key of a spec.
struct Named {
  const char *option, *key;
};
constexpr Named kNetwork[] = {
    {"net", "network"}, {"width", "width"},   {"head", "head"},     {"sigma0", "sigma0"},
    {"bowl", "bowl"},   {"levels", "levels"}, {"blocks", "blocks"}, {"activation", "activation"}};

// The heads of a U-Net have no weights, so a run may start from a model with another one, and its channels
// can be copied for a wider one.
bool may_differ(std::string_view key, const network::Spec& model, const json& asked, const json& has) {
  return model.any_size() && (key == "head" || (key == "width" && asked > has));
}

std::string text_of(const json& value) {
  return value.is_string() ? value.get<std::string>() : json_text(value);
}

}  // namespace

void take_network(OptionSet& options, const network::Spec& model, const std::string& from) {
  const json has = to_json(model), asked = options.to_json();
  for (const auto& [option, key] : kNetwork) {
    if (!has.contains(key)) continue;  // unet's own
    if (!options.given(option))
      options.set_default(option, text_of(has.at(key)));
    else if (asked.at(option) != has.at(key) && !may_differ(key, model, asked.at(option), has.at(key)))
      fail_usage(fmt::format("leave --{} out, or train without --init", option),
                 "--{} cannot change with --init: {} has {}, asked for {}", option, from,
                 text_of(has.at(key)), text_of(asked.at(option)));
  }
}

network::Parameters starting_weights(const TrainingOptions& options, const network::Spec& spec) {
  if (!options.start)
    return network::Parameters::initialised(spec, static_cast<uint64_t>(options.train.seed));
  const network::Parameters& from = *options.start;
  const Shape has = from.spec().input(1), data = spec.input(1);
  if (has.c != data.c)
    fail_usage("use data of that kind, or --colour", "{} is for images of {} channels, the data has {}",
               options.init, has.c, data.c);
  if (!spec.any_size() && has != data)
    fail_usage("fit them with --crop, --resize or --pad",
               "{} is for images of {}x{} pixels, the data has {}x{}", options.init, has.w, has.h, data.w,
               data.h);
  if (spec.width != from.spec().width)
    return network::widened(from, spec, static_cast<uint64_t>(options.train.seed));
  network::Parameters weights(spec);
  std::ranges::copy(from.values(), weights.values().begin());  // no parameter depends on the size
  return weights;
}

}  // namespace mdsm::app

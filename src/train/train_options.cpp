#include "train/train_options.h"

#include <algorithm>
#include <map>
#include <nlohmann/json.hpp>

#include "core/error.h"
#include "core/hash.h"

namespace mdsm::train {
namespace {

using nlohmann::json;
using Values = std::vector<std::pair<const char*, const char*>>;

struct Preset {
  Values noise, rest;
};

// The paper's settings; the learning rate of MNIST and Fashion-MNIST is that of the authors' script.
const std::map<std::string, Preset>& presets() {
  static const Values grey = {{"noise", "geometric"}, {"sigma-min", "0.1"}, {"sigma-max", "3"}};
  static const Values colour = {{"noise", "linear"}, {"sigma-min", "0.05"}, {"sigma-max", "1.2"}};
  static const Values small = {{"net", "res12"}, {"width", "64"}, {"steps", "100000"}, {"lr", "1e-4"}};
  static const Values large = {{"net", "res18"}, {"width", "128"},           {"steps", "300000"},
                               {"lr", "5e-5"},   {"snapshot-every", "5000"}, {"save-every", "1000"}};
  static const std::map<std::string, Preset> table = [] {
    Values faces = large;
    // Aligned CelebA images are 178x218; the middle 140x140 holds the face.
    faces.insert(faces.end(), {{"flip", "true"}, {"crop", "140"}, {"resize", "32"}});
    return std::map<std::string, Preset>{{"mnist", {grey, small}},
                                         {"fashion-mnist", {grey, small}},
                                         {"cifar10", {colour, large}},
                                         {"celeba", {colour, faces}}};
  }();
  return table;
}

// What a resumed run may change. All else would make it another run.
bool may_change(const std::string& name) {
  static const std::vector<std::string> names = {
      "steps",       "lr",          "lr-final",   "lr-schedule",   "warmup",         "clip",
      "micro-batch", "stats-every", "save-every", "preview-every", "snapshot-every", "engine",
      "device",      "exact",       "threads",    "ml-steps",      "ml-eps",         "ml-energy-l2"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

// What the fingerprint of the first version was taken of. It stays as it is; newer options are told by not
// being here.
bool of_first_version(const std::string& name) {
  static const std::vector<std::string> names = {
      "batch", "beta1",     "beta2",     "colour", "crop",   "data",         "desc",   "ema",    "flip",
      "head",  "limit",     "net",       "noise",  "outdir", "pad",          "preset", "resize", "seed",
      "sigma", "sigma-max", "sigma-min", "sigma0", "split",  "weight-power", "width"};
  return std::find(names.begin(), names.end(), name) != names.end();
}

using Names = std::vector<const char*>;
const Names kNoiseNames = {"noise", "sigma-min", "sigma-max", "sigma", "weight-power", "importance"};
const Names kLikelihoodNames = {"ml-steps", "ml-eps", "ml-chains", "ml-buffer", "ml-restart", "ml-energy-l2"};

void refuse_given(const OptionSet& set, const Names& names, const std::string& objective) {
  for (const char* name : names)
    if (set.given(name)) fail_usage("leave it out", "--{} means nothing to --objective {}", name, objective);
}

// What an objective implies for options that were not given, and what it cannot go with.
void apply_objective(OptionSet& set, const TrainOptions& options) {
  if (options.objective == "ml") return refuse_given(set, kNoiseNames, "ml");
  refuse_given(set, kLikelihoodNames, options.objective);
  if (options.objective == "single") {
    if (set.given("noise") && options.noise.kind != "single")
      fail_usage("leave --noise out", "--noise {} is not what --objective single trains with",
                 options.noise.kind);
    set.set_default("noise", "single");
    // One level is the kernel itself (the paper's L_DSM): the density is that of data with this noise.
    set.set_default("sigma0", fmt::format("{}", options.noise.sigma));
  }
  const char* single = options.objective == "single" ? "--objective single" : "--noise single";
  if (options.noise.kind == "single" && (set.given("sigma-min") || set.given("sigma-max")))
    fail_usage("give its level with --sigma", "--sigma-min and --sigma-max mean nothing to {}", single);
  if (options.noise.kind != "single" && set.given("sigma"))
    fail_usage("give --sigma-min and --sigma-max, or --objective single",
               "--sigma means nothing to --noise {}", options.noise.kind);
}

void validate_likelihood(const TrainOptions& options) {
  if (!options.keeps_chains() || options.ml.buffer >= options.batch) return;
  fail_usage(fmt::format("give --ml-buffer {} or more, or a smaller --batch", options.batch),
             "--ml-buffer {} is less than --batch {}", options.ml.buffer, options.batch);
}

}  // namespace

void declare_train_options(OptionSet& set, TrainOptions& o) {
  set.group("Network");
  set.add("preset", o.preset, "the paper's network, noise, steps and rates for a data set")
      .choices({"none", "mnist", "fashion-mnist", "cifar10", "celeba"});
  set.add("net", o.network, "network").choices({"res6", "res12", "res18", "res34"});
  set.add("width", o.width, "channels after the first convolution, a multiple of 4").range(4, 4096);
  set.add("head", o.head, "last layer").choices({"quadratic", "linear"});
  set.add("sigma0", o.sigma0, "width of the Gaussian that smooths the data").above(0);
  set.add("bowl", o.bowl, "adds bowl ‖x‖² / (2 sigma0²) to the network's energy; the paper has 0")
      .range(0, 1);

  set.group("Objective");
  set.add("objective", o.objective,
          "mdsm: denoising at many noise levels; single: at the one of --sigma; ml: maximum likelihood")
      .choices({"mdsm", "single", "ml"});
  set.add("importance", o.importance,
          "batch: weigh each noisy image by how likely its origin is under sigma0, among the batch")
      .choices({"none", "batch"});
  set.add("ml-steps", o.ml.steps, "ml: Langevin steps of an update").range(1, 1e6);
  set.add("ml-eps", o.ml.eps, "ml: step size, x - eps²/2 grad_x + eps n").range(1e-6, 100);
  set.add("ml-chains", o.ml.chains, "ml: chains go on from the last update, or start from noise in each")
      .choices({"persistent", "noise"});
  set.add("ml-buffer", o.ml.buffer, "ml: persistent chains kept, of which an update takes a batch")
      .range(1, 1 << 24);
  set.add("ml-restart", o.ml.restart, "ml: share of an update's chains that start from noise again")
      .range(0, 1);
  set.add("ml-energy-l2", o.ml.energy_l2, "ml: weight of the mean E² of data and samples, added to the loss")
      .range(0);

  set.group("Noise");
  set.add("noise", o.noise.kind,
          "how noise levels are spread over a batch; as in the paper for its data sets")
      .choices({"geometric", "linear", "single"});
  set.add("sigma-min", o.noise.sigma_min, "lowest noise level").range(1e-6, 1e3);
  set.add("sigma-max", o.noise.sigma_max, "highest noise level").range(1e-6, 1e3);
  set.add("sigma", o.noise.sigma, "the one level of --objective single").range(1e-6, 1e3);
  set.add("weight-power", o.noise.weight_power, "p of the objective's weight sigma^-p").range(0, 4);

  set.group("Training");
  set.add("batch", o.batch, "images of a step").range(1, 1 << 20);
  set.add("micro-batch", o.micro_batch, "images worked on at a time, to save memory; 0 = the whole batch")
      .range(0, 1 << 20);
  set.add("steps", o.schedule.steps, "updates of the whole run").range(1, 1e9);
  set.add("lr", o.schedule.lr, "learning rate").above(0);
  set.add("lr-schedule", o.schedule.kind, "cosine; step: divided by 10 after every sixth; constant")
      .choices({"cosine", "step", "constant"});
  set.add("lr-final", o.schedule.lr_final, "where the cosine ends").range(0);
  set.add("warmup", o.schedule.warmup, "updates over which the rate rises linearly").range(0, 1e9);
  set.add("clip", o.clip, "largest norm of the whole gradient; 0 = no limit").range(0);
  set.add("ema", o.ema, "decay of the moving average of the weights; below it at first: (1+t)/(10+t)")
      .range(0, 1);
  set.add("beta1", o.beta1, "Adam's decay of the mean").range(0, 0.999999);
  set.add("beta2", o.beta2, "Adam's decay of the square").range(0, 0.999999);
  set.add("seed", o.seed, "start of every random stream").range(0, 9e15);

  set.group("Saving");
  set.add("stats-every", o.stats_every, "steps between lines of stats.jsonl").range(1, 1e9);
  set.add("save-every", o.save_every, "steps between checkpoints; 0 = only at the end").range(0, 1e9);
  set.add("preview-every", o.preview_every, "steps between preview images; 0 = none").range(0, 1e9);
  set.add("snapshot-every", o.snapshot_every, "steps between kept ema-N.safetensors; 0 = none").range(0, 1e9);
}

void validate(const TrainOptions& options) {
  validate(options.noise);
  validate_likelihood(options);
  validate(options.schedule);
}

void apply_preset(OptionSet& set, const TrainOptions& options, const std::string& data) {
  const auto apply = [&](const Values& values) {
    for (const auto& [name, value] : values) set.set_default(name, value);
  };
  if (const auto chosen = presets().find(options.preset); chosen != presets().end()) {
    apply(chosen->second.noise);
    apply(chosen->second.rest);
    // CelebA has no known place or format of its own; its folder must be named.
    if (options.preset != "celeba") set.set_default("data", options.preset);
  } else if (const auto named = presets().find(data.substr(0, data.find(':'))); named != presets().end()) {
    apply(named->second.noise);
  }
  apply_objective(set, options);
}

network::Spec make_spec(const TrainOptions& options, const Shape& image) {
  network::Spec spec;
  spec.network = network::network_from(options.network);
  spec.head = network::head_from(options.head);
  spec.width = options.width;
  spec.sigma0 = options.sigma0;
  spec.bowl = options.bowl;
  spec.channels = image.c;
  spec.size = image.h;
  const int64_t step = spec.network == network::Network::res34 ? 16 : 8;
  if (image.h != image.w)
    fail_usage("fit them with --crop, --resize or --pad", "images of {}x{} pixels are not square", image.w,
               image.h);
  if (image.h % step != 0)
    fail_usage(fmt::format("fit them, for example with --pad {} or --resize {}",
                           (image.h + step - 1) / step * step, std::max(image.h / step, int64_t{1}) * step),
               "images of {}x{} pixels do not fit {}, which takes multiples of {}", image.w, image.h,
               options.network, step);
  validate(spec);
  return spec;
}

void apply_recorded(OptionSet& set, const json& recorded, const json& defaults, const std::string& where) {
  const json now = set.to_json();
  const json objective = recorded.value("objective", json("mdsm"));
  if (objective != "ml")
    refuse_given(set, kLikelihoodNames, objective.is_string() ? objective.get<std::string>() : "mdsm");
  json changes = json::object();
  for (const std::string& name : set.given_names()) {
    if (!now.contains(name)) continue;  // command line only
    const json& had = recorded.contains(name) ? recorded.at(name) : defaults.at(name);
    if (had == now.at(name)) continue;
    if (!may_change(name))
      fail_usage("start a new run for that", "--{} cannot change on resume: the run has {}, asked for {}",
                 name, had.dump(), now.at(name).dump());
    changes[name] = now.at(name);
  }
  set.from_json(recorded, where);
  set.from_json(changes, where);
}

std::string options_hash(const json& resolved, const json& defaults) {
  json fixed = json::object();
  for (const auto& [name, value] : resolved.items()) {
    const bool as_before = !of_first_version(name) && defaults.contains(name) && defaults.at(name) == value;
    if (!may_change(name) && !as_before) fixed[name] = value;
  }
  const std::string text = fixed.dump();
  return content_hash(text.data(), text.size());
}

}  // namespace mdsm::train

#include "app/likelihood.h"

#include <algorithm>

#include "app/output.h"
#include "app/world.h"
#include "core/error.h"
#include "core/folder_lock.h"
#include "core/hash.h"
#include "core/progress.h"
#include "data/fingerprint.h"
#include "eval/energies.h"
#include "eval/reverse_starts.h"
#include "eval/sample_source.h"
#include "report/annealing_plot.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

fs::path state_file(const LikelihoodOptions& options) { return fs::path(options.out) / "state.safetensors"; }

struct BoundImages {
  std::shared_ptr<const data::Dataset> images, samples;  // with their noise; either may be missing

  const std::shared_ptr<const data::Dataset>& starts() const { return samples ? samples : images; }
  const data::Dataset& reference() const { return images ? *images : *samples; }
};

BoundImages open(const LikelihoodOptions& options, const network::Model& model) {
  BoundImages found;
  if (!options.data.source.empty())
    found.images = std::make_shared<eval::NoisyDataset>(open_images(model, options.data), options.noise);
  if (!options.samples.empty()) {
    data::DataOptions samples;
    samples.source = eval::sample_source(options.samples).source;
    found.samples = std::make_shared<eval::NoisyDataset>(
        open_images(model, samples), eval::ImageNoise{options.samples_noise, false, options.plan.seed});
  }
  const eval::AisPlan& plan = options.plan;
  if (plan.goes(eval::Direction::reverse) && found.starts()->size() < plan.chains)
    fail_usage("use fewer --chains or more images", "{} reverse chains, but only {} images to start them at",
               plan.chains, found.starts()->size());
  for (const auto& data : {found.images, found.samples})
    if (data) eval::check_fits(image_shape(model, found.reference()), *data);
  return found;
}

eval::GaussianReference make_reference(const LikelihoodOptions& options, const data::Dataset& images) {
  return options.reference == eval::ReferenceMean::constant
             ? eval::constant_reference(images, options.reference_mean, options.reference_std)
             : eval::mean_reference(images, options.reference_std);
}

// All that the result depends on; a checkpoint of others is refused.
json parameters(const LikelihoodOptions& options, const network::Model& model,
                const eval::GaussianReference& reference, const eval::ReverseStarts& starts) {
  json values = options.recorded;
  for (const char* key : {"out", "threads", "batch", "save-seconds"}) values.erase(key);
  // Unfinished runs of before 0.2 have these names.
  for (const auto& [now, before] : {std::pair("add-noise", "noise"), std::pair("subset", "limit")}) {
    values[before] = values.at(now);
    values.erase(now);
  }
  // Those of the other method, which states from before it do not have; nor do they have tiles, damaged
  // files or bfloat16.
  for (const char* key : {"method", "sigma-max", "nodes", "draws", "clean"}) values.erase(key);
  if (values.value("tile", 0) == 0) values.erase("tile");
  if (!values.value("skip-damaged", false)) values.erase("skip-damaged");
  if (values.value("precision", "") == "float32") values.erase("precision");
  values["samples-noise"] = options.samples_noise;  // what -1 stood for
  values.update(model_parameters(options.use.model, model));
  values["command"] = "likelihood";
  const auto hash = [](const auto& list) { return content_hash(list.data(), list.size() * sizeof list[0]); };
  const eval::AisPlan& plan = options.plan;
  values["betas-hash"] = hash(plan.betas);
  values["start-hash"] =
      plan.goes(eval::Direction::reverse) ? starts.hash(plan.chains + plan.pilots) : std::string();
  values["reference-hash"] = hash(reference.mean) + content_hash(&reference.std, sizeof reference.std);
  return values;
}

void check_folder(const LikelihoodOptions& options) {
  std::error_code error;
  const fs::path state = state_file(options);
  check_outputs(options.out, {"likelihood.json", "likelihood.svg"}, options.resume || options.force);
  if (options.resume && !fs::exists(state, error))
    fail("leave --resume out to start one", "{}: no unfinished run there", options.out);
  if (!options.resume && !options.force && fs::exists(state, error))
    fail("add --resume to go on, or --force to start again", "{}: holds an unfinished run", options.out);
}

// What the processes that share the work must have in common: all that the result depends on, but paths of
// their own disks, whose contents count.
void check_ranks(const LikelihoodOptions& options, const json& parameters, const BoundImages& images) {
  if (options.world->alone()) return;
  json same = {{"number of chains at a time", options.plan.batch}, {"choice of --resume", options.resume}};
  for (const auto& [key, value] : parameters.items()) same[key] = value;
  for (const char* key : {"model", "data", "samples", "schedule", "device"}) same.erase(key);
  if (images.images) same["fingerprint of the images"] = data::fingerprint(*images.images);
  check_same(*options.world, same);
}

// Rank 0's. Once more when it is locked: another process may have been there in between.
FolderLock prepare_folder(const LikelihoodOptions& options) {
  if (!options.world->first()) return {};
  check_folder(options);
  make_folder(options.out);
  FolderLock lock(options.out, "computing a likelihood");
  check_folder(options);
  std::error_code error;
  if (options.force) fs::remove(state_file(options), error);
  return lock;
}

// kept: whether the pilots are done.
[[noreturn]] void fail_stopped(const LikelihoodOptions& options, bool kept) {
  if (kept) fail("the same call with --resume goes on", "stopped; the chains are kept in {}", options.out);
  fail("start it again", "stopped while the pilot chains were at work; nothing is kept");
}

void anneal(eval::AisRun& run, const LikelihoodOptions& options, const std::atomic<bool>& stop) {
  if (options.resume) run.resume();
  Progress progress("annealing", options.plan.work(), "steps");
  const bool finished = run.run(stop, options.save_every, [&](const eval::AisRun::Report& r) {
    progress.update(r.done, fmt::format("{}, beta {:.4g}, acceptance {:.2f}", r.phase, r.beta, r.acceptance));
  });
  if (!finished) fail_stopped(options, !run.eps().empty());
}

std::vector<float> energies(engine::EnergyModel& model, const data::Dataset* images,
                            const LikelihoodOptions& options, const std::atomic<bool>& stop) {
  if (!images) return {};
  Progress progress("energies", images->size(), "images");
  return eval::shared_energies(*options.world, model, *images, {.batch = options.use.batch},
                               [&](int64_t done) {
                                 progress.update(done);
                                 if (stop) fail_stopped(options, true);
                               });
}

LikelihoodOptions completed(LikelihoodOptions options) {
  options.plan.betas = options.schedule.betas();
  options.plan.batch = options.use.batch;
  options.plan.seed = options.noise.seed = options.data.seed = static_cast<uint64_t>(options.seed);
  return options;
}

}  // namespace

LikelihoodResult run_likelihood(const LikelihoodOptions& given, const std::atomic<bool>& stop) {
  LikelihoodResult result;
  result.options = completed(given);
  LikelihoodOptions& options = result.options;
  const eval::AisPlan& plan = options.plan;
  const network::Model model = options.use.load();
  const network::Spec& spec = model.parameters.spec();
  if (options.samples_noise < 0) options.samples_noise = spec.sigma0;
  const BoundImages images = open(options, model);
  const Shape image = image_shape(model, images.reference());
  const eval::ReverseStarts starts(images.starts(), plan.seed);
  const auto engine =
      options.use.make(model, std::max(std::min(options.use.batch, plan.chains), plan.pilots), image);
  const eval::GaussianReference reference = make_reference(options, images.reference());
  result.parameters = parameters(options, model, reference, starts);
  check_ranks(options, result.parameters, images);
  const FolderLock lock = prepare_folder(options);
  eval::Bridge bridge(*engine, reference);
  eval::AisRun run(
      bridge, plan, [&](int64_t first, int64_t count) { return starts.images(first, count); },
      result.parameters, state_file(options), *options.world);
  anneal(run, options, stop);
  const std::vector<float> energy = energies(*engine, images.images.get(), options, stop);
  Progress::clear_line();
  if (!options.world->first()) return {};
  result.likelihood = eval::likelihood_of(run, plan, image.count(), energy, !images.samples);
  result.reference_std = reference.std;
  if (images.images) result.images = images.images->description();
  result.reverse_start = images.starts()->description();
  result.leapfrog_steps = run.eps();
  result.forward_weights = run.chains(eval::Direction::forward).log_weight;
  result.reverse_weights = run.chains(eval::Direction::reverse).log_weight;
  write_file(fs::path(options.out) / "likelihood.svg", report::annealing_plot(run, plan));
  write_json(fs::path(options.out) / "likelihood.json", file_json(result));
  std::error_code error;
  fs::remove(state_file(options), error);
  return result;
}

}  // namespace mdsm::app

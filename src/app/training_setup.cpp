#include "app/engine_options.h"
#include "app/training_start.h"
#include "core/error.h"
#include "core/json.h"
#include "core/numbered_folder.h"
#include "data/data_options.h"
#include "distributed/launcher.h"
#include "network/model_file.h"
#include "train/resume_options.h"
#include "train/run_folder.h"

namespace mdsm::app {
namespace {

void declare_saving(OptionSet& options, TrainingSetup& setup, const std::vector<std::string>& may_change) {
  options.group("Saving");
  options.add("out", setup.job.outdir, "where the numbered run folder is made")
      .meta("FOLDER")
      .formerly("outdir");
  options.add("desc", setup.job.desc, "a word for the end of the run folder's name");
  options
      .add("resume", setup.job.resume,
           fmt::format("go on with this run, or with the latest in --out; steps, lr*, warmup, clip, "
                       "micro-batch, *-every, engine, device and "
                       "threads may change, and {}",
                       fmt::join(may_change, ", ")))
      .meta("RUN|latest")
      .command_line_only();
  options
      .add("stop-after", setup.job.stop_after,
           "save and stop after so many steps of this call; 0 = go to the end")
      .range(0, 1e9)
      .command_line_only();
  options.add("dry-run", setup.dry_run, "print options, network and memory; write nothing")
      .command_line_only();
}

}  // namespace

void TrainingSetup::declare(OptionSet& options) {
  data::DeclareData which;
  which.flip = true;
  data::declare_data_options(options, job.data, which);
  data::declare_augment_options(options, job.train.augment);
  options.group("Network");
  options
      .add("init", job.init,
           "start from the weights of this model, a file, a run folder or a bundled name, and take its "
           "network")
      .meta("MODEL");
  options.add("recipe", recipe_,
              "what is taken for all that is not given: quick: what was found best for little compute, by "
              "the name of "
              "--data; paper: the paper's, for its data sets; none: the same for all");
  train::declare_train_options(options, job.train, objectives_);
  for (const std::string& name : train::recipe_options()) options.at(name).shown_default("the recipe's");
  declare_saving(options, *this, objectives_.may_change());
  declare_engine_options(options, job.engine, job.threads);
  defaults_ = options.to_json();
}

// Processes that a launcher has started again go on with the run that it was at; rank 0 looks for it.
void TrainingSetup::find_run_of_job() {
  if (job.world->alone()) return;
  job.job = distributed::read_launch().job;
  const std::string found =
      job.world->first() && !job.job.empty() ? train::RunFolder::of_job(job.outdir, job.job).string() : "";
  job.resume = job.world->broadcast(found);
}

// Rank 0 alone needs to see the folder.
nlohmann::json TrainingSetup::recorded() const {
  const bool reads = job.world->first();
  return parse_json(
      job.world->broadcast(reads ? json_text(train::RunFolder::recorded_options(job.resume)) : ""));
}

// A run that has a checkpoint goes on from that, whatever has become of the model since.
void TrainingSetup::load_start() {
  const bool resumes = job.world->first() && !job.resume.empty() && train::RunFolder::has_state(job.resume);
  if (job.init.empty() || job.world->any(resumes)) return;
  network::Model model = network::load_model(job.init);
  job.start = std::make_shared<const network::Parameters>(std::move(model.parameters));
}

void TrainingSetup::take_recipe(OptionSet& options) {
  if (options.given("preset")) options.set_default("recipe", to_string(train::Recipe::paper));
  // The quick ones were found for denoising score matching.
  const bool quick = recipe_ == train::Recipe::quick;
  if (quick && options.to_json().at("objective") != train::objectives().names().front())
    options.set_default("recipe", to_string(train::Recipe::none));
  std::optional<network::Network> start;
  if (job.start) start = job.start->spec().network;
  train::apply_recipe(options, recipe_, job.train.preset, job.data.source, start);
}

void TrainingSetup::resolve(OptionSet& options) {
  if (job.resume == "latest") job.resume = train::RunFolder::latest(job.outdir).string();
  job.resume = numbered_folder(job.resume).string();
  if (!job.resume.empty() && options.given("init"))
    fail_usage("leave --init out; a run goes on from its own checkpoint",
               "--init and --resume exclude each other");
  if (job.resume.empty()) find_run_of_job();
  if (job.resume.empty()) {
    load_start();
    take_recipe(options);
    if (job.train.network == network::Network::unet)
      options.set_default("head", to_string(network::Head::squared_residual));
    objectives_.resolve(options);
    train::set_default_shards(options, job.train);
  } else {
    train::apply_recorded(options, objectives_, recorded(), defaults_, job.resume + "/options.json");
    load_start();
  }
  if (job.start) take_network(options, job.start->spec(), job.init);
  if (job.data.source.empty())
    fail_usage("name a data set or a path, as in --data fashion-mnist", "mdsm train: --data is missing");
  objectives_.chosen().validate(job.train);
  validate(job.train);
  job.data.seed = static_cast<uint64_t>(job.train.seed);
  job.recorded = options.to_json();
  for (const auto& [name, value] : job.recorded.items())
    if (value.is_string() && !is_utf8(value))
      fail_usage("the run keeps its options as text: give the file another name, or a link that has one",
                 "--{} {} is not UTF-8", name, json_text(value));
  if (job.train.head == network::Head::predicted_noise && job.init.empty() &&
      job.recorded.value("denoiser-steps", 0) == 0)
    fail_usage(
        "give --denoiser-steps, about two thirds of --steps, or start from a model by --init",
        "--head predicted-noise starts from an energy without any slope, which nothing can learn from");
  job.options_hash = train::options_hash(job.recorded, defaults_, objectives_);
}

}  // namespace mdsm::app

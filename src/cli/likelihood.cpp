// mdsm likelihood: log Z from both sides by annealed importance sampling and the likelihood of images; or a
// bound on that from denoising alone.
#include "app/likelihood.h"

#include "app/denoising_likelihood.h"
#include "app/world.h"
#include "cli/command.h"
#include "cli/show.h"
#include "core/error.h"
#include "core/stop_flag.h"
#include "data/data_options.h"

namespace mdsm::cli {
namespace {

using Schedule = eval::BetaSchedule::Kind;

class LikelihoodCommand : public Command {
 public:
  LikelihoodCommand() { job_.data.split = data::Split::test; }
  const char* name() const override { return "likelihood"; }
  const char* summary() const override {
    return "Bound the log-likelihood of images: by annealed importance sampling, or by how well they are "
           "denoised";
  }
  void declare(OptionSet& options) override;
  bool together() const override { return true; }
  int run(OptionSet& options) override;

 private:
  void declare_annealing(OptionSet& options);
  void declare_denoising(OptionSet& options);
  void check(const OptionSet& options) const;
  int run_denoising(OptionSet& options);

  app::LikelihoodMethod method_ = app::LikelihoodMethod::ais;
  app::LikelihoodOptions job_;
  app::DenoisingLikelihoodOptions denoising_;
  std::string schedule_ = job_.schedule.text();
};

void LikelihoodCommand::declare(OptionSet& options) {
  job_.use.declare_model(options);
  data::declare_data_options(options, job_.data, {.random_limit = true});
  options.group("Method");
  options.add("method", method_,
              "ais: log Z from both sides, then -E - log Z; denoising: one bound, from the losses at all "
              "noise levels");
  options.add("seed", job_.seed, "of everything random").range(0, 1e9);
  options.group("Annealing").alternative("method", "ais");
  declare_annealing(options);
  options.group("Denoising").alternative("method", "denoising");
  declare_denoising(options);
  options.common();
  job_.use.declare_engine(options);
  options.group("Output");
  options.add("out", job_.out, "folder for likelihood.json and likelihood.svg").meta("FOLDER");
  options.add("force", job_.force, "replace what is in the folder").command_line_only();
  options.example(
      "mdsm likelihood --model runs/00000 --data fashion-mnist --distributions 1000 --out likelihood");
  options.example(
      "mdsm likelihood --model fashion-mnist --data fashion-mnist --subset 1000 --method denoising");
}

void LikelihoodCommand::declare_annealing(OptionSet& options) {
  eval::AisPlan& plan = job_.plan;
  options
      .add("add-noise", job_.noise.sigma,
           "standard deviation of Gaussian noise put on the images; sigma0 makes them what the model is of")
      .range(0, 1000)
      .formerly("noise");
  options.add("dequantise", job_.noise.dequantise,
              "add uniform noise of one grey level, half to either side");
  options.add("distributions", job_.schedule.distributions, "K, steps from the reference to the model")
      .range(1, 1e7);
  options.add("schedule", schedule_, "exp, linear, or a text file with one beta a line")
      .meta("exp|linear|FILE");
  options.add("first-beta", job_.schedule.first, "exp: where the geometric part of the schedule begins")
      .above(0);
  options.add("chains", plan.chains, "in each direction").range(1, 1e6);
  options.add("direction", plan.directions,
              "forward bounds log Z from below; reverse from above, if it starts at samples of the model");
  options
      .add("samples", job_.samples,
           "start reverse chains at these samples of the model (a folder of mdsm sample, or samples.npy) "
           "instead of "
           "the images")
      .meta("SOURCE");
  options
      .add("samples-noise", job_.samples_noise,
           "Gaussian noise put on the samples; -1 = sigma0, for samples that ended with a jump")
      .range(-1, 1000);
  options.add("leapfrog", plan.options.leapfrog, "leapfrog steps of each HMC transition").range(1, 10000);
  options.add("accept", plan.options.target, "acceptance that the pilot chains aim at").range(0.05, 0.99);
  options.add("eps", plan.options.eps, "first leapfrog step of the pilot chains").above(0);
  options
      .add("pilot", plan.pilots,
           "chains in each direction that learn the leapfrog steps beforehand; 0 keeps --eps")
      .range(0, 10000);
  options.add("reference", job_.reference,
              "mean of the Gaussian where annealing begins: constant or the mean image");
  options.add("reference-mean", job_.reference_mean, "the constant").range(-1000, 1000);
  options.add("reference-std", job_.reference_std, "width of the Gaussian; 0 fits it to the images")
      .range(0, 1000);
  options.add("save-seconds", job_.save_every, "seconds between checkpoints").range(0).formerly("save-every");
  options.add("resume", job_.resume, "go on with the unfinished run in the folder").command_line_only();
}

void LikelihoodCommand::declare_denoising(OptionSet& options) {
  eval::BoundOptions& bound = denoising_.bound;
  options.add("add-noise", bound.low, "lowest noise level, which the images are taken to have; 0 = sigma0")
      .range(0, 1000);
  options
      .add("sigma-max", bound.high,
           "highest noise level of the model, above it a Wiener filter; 0 = the highest of its training")
      .range(0, 1000);
  options.add("nodes", bound.nodes, "noise levels, the nodes of the quadrature").range(2, 1000);
  options.add("draws", bound.draws, "of the noise, at every level").range(1, 4095);
  options.add("clean", denoising_.clean,
              "bits of the images themselves, of 8 bits; for models trained down to noise 4/255");
}

void LikelihoodCommand::check(const OptionSet& options) const {
  const Schedule schedule = job_.schedule.kind;
  if (job_.resume && job_.force) fail_usage("choose one", "--resume and --force exclude each other");
  if (job_.data.source.empty() && job_.samples.empty())
    fail_usage("give --data, or --samples for log Z alone", "nothing to start the reverse chains at");
  if (schedule != Schedule::exponential && options.given("first-beta"))
    fail_usage("leave it out", "--first-beta has no meaning for --schedule {}", schedule_);
  if (schedule == Schedule::file && options.given("distributions"))
    fail_usage("leave it out", "--distributions has no meaning for a schedule from a file");
  if (job_.reference != eval::ReferenceMean::constant && options.given("reference-mean"))
    fail_usage("leave it out", "--reference-mean has no meaning for --reference {}",
               to_string(job_.reference));
  for (const char* name : {"add-noise", "dequantise", "split", "subset", "crop", "resize", "pad", "colour"})
    if (job_.data.source.empty() && options.given(name))
      fail_usage("leave it out, or give --data", "--{} has no meaning without --data", name);
  if (job_.samples.empty() && options.given("samples-noise"))
    fail_usage("leave it out", "--samples-noise has no meaning without --samples");
}

int LikelihoodCommand::run_denoising(OptionSet& options) {
  if (job_.data.source.empty()) fail_usage("give --data", "no images to find the likelihood of");
  denoising_.use = job_.use, denoising_.data = job_.data;
  denoising_.seed = job_.seed, denoising_.out = job_.out, denoising_.force = job_.force;
  denoising_.recorded = options.chosen_json();
  denoising_.world = world;
  denoising_.use.engine.device = app::own_device(*world, job_.use.engine.device);
  const StopFlag stop;
  const auto found = app::run_denoising_likelihood(denoising_, stop.flag());
  if (!world->first()) return 0;
  show(found, as_json);
  return 0;
}

int LikelihoodCommand::run(OptionSet& options) {
  options.choose(to_string(method_));
  job_.world = world;
  app::check_same(*world, app::comparable(options.to_json()));
  if (method_ == app::LikelihoodMethod::denoising) return run_denoising(options);
  job_.schedule.set_text(schedule_);
  check(options);
  job_.recorded = options.to_json();
  job_.use.engine.device = app::own_device(*world, job_.use.engine.device);
  const StopFlag stop;
  const app::LikelihoodResult found = app::run_likelihood(job_, stop.flag());
  if (!world->first()) return 0;
  show(found, as_json);
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_likelihood() { return std::make_unique<LikelihoodCommand>(); }

}  // namespace mdsm::cli

// mdsm likelihood: log Z from both sides by annealed importance sampling, and the likelihood of images.
#include "eval/likelihood.h"

#include <cmath>

#include "cli/command.h"
#include "cli/likelihood_plot.h"
#include "app/features.h"
#include "app/model_use.h"
#include "app/output.h"
#include "cli/sampler_options.h"
#include "core/hash.h"
#include "core/error.h"
#include "core/progress.h"
#include "core/random.h"
#include "core/stop_flag.h"
#include "data/data_options.h"
#include "eval/energies.h"
#include "eval/noisy_dataset.h"
#include "eval/sample_source.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

constexpr const char* kConvention =
    "a density over pixels in [0,1] (as the network takes them) or in [0,255] (log2 255 = 7.994 more)";

class LikelihoodCommand : public Command {
 public:
  const char* name() const override { return "likelihood"; }
  const char* summary() const override {
    return "Bound log Z from both sides by annealed importance sampling; log-likelihood of images";
  }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  void check(const OptionSet& options) const;
  void make_plan();
  void open_data();
  eval::GaussianReference make_reference() const;
  Tensor starts(int64_t first, int64_t count) const;
  json parameters(const OptionSet& options, const network::Model& model, const eval::GaussianReference& reference) const;
  std::string start_hash() const;
  void prepare_folder() const;
  [[noreturn]] void fail_stopped() const;
  void write(const json& found, const eval::AisRun& run) const;
  void print(const eval::Likelihood& found, const eval::GaussianReference& reference) const;

  fs::path state() const { return fs::path(out_) / "state.safetensors"; }
  const data::Dataset& reference_images() const { return images_ ? *images_ : *samples_; }

  app::ModelUse use_;
  data::DataOptions data_;
  eval::AisPlan plan_;
  eval::ImageNoise noise_;
  std::string schedule_ = "exp", reference_ = "constant", direction_ = "both", samples_text_,
              out_ = "likelihood";
  int64_t distributions_ = 1000, seed_ = 0;
  double first_beta_ = 1e-4, reference_mean_ = 0.5, reference_std_ = 0, samples_noise_ = -1, save_every_ = 60;
  bool resume_ = false, force_ = false, json_ = false;
  std::shared_ptr<const data::Dataset> images_, samples_;  // with their noise; samples_ start the reverse chains
  std::vector<uint32_t> order_;                      // of the reverse chains among their starts
};

void LikelihoodCommand::declare(OptionSet& options) {
  use_.declare_model(options);
  data_.split = "test";
  data::declare_data_options(options, data_, {.random_limit = true});
  options
      .add("noise", noise_.sigma, "Gaussian noise put on the images; sigma0 makes them what the model is of")
      .range(0, 1000);
  options.add("dequantise", noise_.dequantise, "add uniform noise of one grey level, half to either side");
  options.group("Annealing");
  options.add("distributions", distributions_, "K, steps from the reference to the model").range(1, 1e7);
  options.add("schedule", schedule_, "exp, linear, or a text file with one beta a line")
      .meta("exp|linear|FILE");
  options.add("first-beta", first_beta_, "exp: where the geometric part of the schedule begins").above(0);
  options.add("chains", plan_.chains, "in each direction").range(1, 1e6);
  options
      .add("direction", direction_,
           "forward bounds log Z from below; reverse from above, if it starts at samples of the model")
      .choices({"both", "forward", "reverse"});
  options
      .add("samples", samples_text_,
           "start reverse chains at these samples of the model instead of the images")
      .meta("FOLDER|FILE.npy");
  options
      .add("samples-noise", samples_noise_,
           "Gaussian noise put on the samples; -1 = sigma0, for samples that ended with a jump")
      .range(-1, 1000);
  options.add("leapfrog", plan_.options.leapfrog, "leapfrog steps of each HMC transition").range(1, 10000);
  options.add("accept", plan_.options.target, "acceptance that the pilot chains aim at").range(0.05, 0.99);
  options.add("eps", plan_.options.eps, "first leapfrog step of the pilot chains").above(0);
  options
      .add("pilot", plan_.pilots,
           "chains in each direction that learn the leapfrog steps beforehand; 0 keeps --eps")
      .range(0, 10000);
  options
      .add("reference", reference_, "mean of the Gaussian where annealing begins: constant or the mean image")
      .choices({"constant", "data-mean"});
  options.add("reference-mean", reference_mean_, "the constant").range(-1000, 1000);
  options.add("reference-std", reference_std_, "width of the Gaussian; 0 fits it to the images")
      .range(0, 1000);
  options.add("seed", seed_, "of everything random").range(0, 1e9);
  use_.declare_engine(options);
  options.group("Output");
  options.add("out", out_, "folder for likelihood.json and likelihood.svg").meta("FOLDER");
  options.add("save-every", save_every_, "seconds between checkpoints").range(0);
  options.add("resume", resume_, "go on with the unfinished run in the folder").command_line_only();
  options.add("force", force_, "replace what is in the folder").command_line_only();
  options.add("json", json_, "print JSON for machines").command_line_only();
  options.example(
      "mdsm likelihood --model runs/00000 --data fashion-mnist --distributions 1000 --out likelihood");
}

void LikelihoodCommand::check(const OptionSet& options) const {
  if (resume_ && force_) fail_usage("choose one", "--resume and --force exclude each other");
  if (data_.source.empty() && samples_text_.empty())
    fail_usage("give --data, or --samples for log Z alone", "nothing to start the reverse chains at");
  if (schedule_ != "exp" && options.given("first-beta"))
    fail_usage("leave it out", "--first-beta has no meaning for --schedule {}", schedule_);
  if (schedule_ != "exp" && schedule_ != "linear" && options.given("distributions"))
    fail_usage("leave it out", "--distributions has no meaning for a schedule from a file");
  if (reference_ != "constant" && options.given("reference-mean"))
    fail_usage("leave it out", "--reference-mean has no meaning for --reference {}", reference_);
  for (const char* name : {"noise", "dequantise", "split", "limit", "crop", "resize", "pad", "colour"})
    if (data_.source.empty() && options.given(name))
      fail_usage("leave it out, or give --data", "--{} has no meaning without --data", name);
  if (samples_text_.empty() && options.given("samples-noise"))
    fail_usage("leave it out", "--samples-noise has no meaning without --samples");
}

void LikelihoodCommand::make_plan() {
  if (schedule_ == "exp") {
    plan_.betas = eval::exponential_betas(distributions_, first_beta_);
  } else if (schedule_ == "linear") {
    plan_.betas = eval::linear_betas(distributions_);
  } else {
    plan_.betas = eval::parse_betas(read_text(schedule_), schedule_);
  }
  plan_.forward = direction_ != "reverse";
  plan_.reverse = direction_ != "forward";
  plan_.batch = use_.batch;
  plan_.seed = static_cast<uint64_t>(seed_);
}

void LikelihoodCommand::open_data() {
  noise_.seed = data_.seed = plan_.seed;
  if (!data_.source.empty()) images_ = std::make_shared<eval::NoisyDataset>(data::open_dataset(data_), noise_);
  if (!samples_text_.empty())
    samples_ = std::make_shared<eval::NoisyDataset>(eval::open_samples(eval::sample_source(samples_text_)),
                                              eval::ImageNoise{samples_noise_, false, plan_.seed});
  const data::Dataset& from = samples_ ? *samples_ : *images_;
  if (plan_.reverse && from.size() < plan_.chains)
    fail_usage("use fewer --chains or more images", "{} reverse chains, but only {} images to start them at",
               plan_.chains, from.size());
  order_ = permutation({plan_.seed, Purpose::shuffle}, static_cast<uint32_t>(from.size()));
}

eval::GaussianReference LikelihoodCommand::make_reference() const {
  return reference_ == "constant" ? eval::constant_reference(reference_images(), reference_mean_, reference_std_)
                                  : eval::mean_reference(reference_images(), reference_std_);
}

Tensor LikelihoodCommand::starts(int64_t first, int64_t count) const {
  const data::Dataset& from = samples_ ? *samples_ : *images_;
  Tensor x(from.image_shape().with_n(count));
  for (int64_t i = 0; i < count; ++i)
    from.read(order_[static_cast<size_t>((first + i) % from.size())], x.view().image(i));
  return x;
}

// Of the images that reverse chains and pilots begin at, noise included.
std::string LikelihoodCommand::start_hash() const {
  if (!plan_.reverse) return "";
  std::string hashes;
  for (int64_t i = 0; i < plan_.chains + plan_.pilots; ++i) {
    const Tensor x = starts(i, 1);
    hashes += content_hash(x.data(), x.values().size_bytes());
  }
  return content_hash(hashes.data(), hashes.size());
}

json LikelihoodCommand::parameters(const OptionSet& options, const network::Model& model,
                                   const eval::GaussianReference& reference) const {
  json values = options.to_json();
  for (const char* key : {"out", "threads", "batch", "save-every"}) values.erase(key);
  values.update(app::model_parameters(use_.model, model));
  values["command"] = "likelihood";
  const auto hash = [](const auto& list) { return content_hash(list.data(), list.size() * sizeof list[0]); };
  values["betas-hash"] = hash(plan_.betas);
  values["start-hash"] = start_hash();
  values["reference-hash"] = hash(reference.mean) + content_hash(&reference.std, sizeof reference.std);
  return values;
}

void LikelihoodCommand::prepare_folder() const {
  std::error_code error;
  app::check_outputs(out_, {"likelihood.json", "likelihood.svg"}, resume_ || force_);
  if (resume_ && !fs::exists(state(), error))
    fail("leave --resume out to start one", "{}: no unfinished run there", out_);
  if (!resume_ && !force_ && fs::exists(state(), error))
    fail("add --resume to go on, or --force to start again", "{}: holds an unfinished run", out_);
  make_folder(out_);
  if (force_) fs::remove(state(), error);
}

void LikelihoodCommand::fail_stopped() const {
  std::error_code error;
  if (fs::exists(state(), error))
    fail("the same call with --resume goes on", "stopped; the chains are kept in {}", out_);
  fail("start it again", "stopped while the pilot chains were at work; nothing is kept");
}

void LikelihoodCommand::write(const json& found, const eval::AisRun& run) const {
  write_file(fs::path(out_) / "likelihood.svg", annealing_plot(run, plan_));
  write_file(fs::path(out_) / "likelihood.json",
             found.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  std::error_code error;
  fs::remove(state(), error);
}

void LikelihoodCommand::print(const eval::Likelihood& found, const eval::GaussianReference& reference) const {
  fmt::print(
      "annealing    K = {} distributions ({}), {} leapfrog steps each, {} chains a direction, seed {}\n",
      plan_.distributions(), schedule_, plan_.options.leapfrog, plan_.chains, seed_);
  fmt::print("reference    Gaussian, {} mean, standard deviation {:.4g} ({})\n",
             reference_ == "constant" ? fmt::format("constant {:g}", reference_mean_) : "image",
             reference.std, reference_std_ > 0 ? "given" : "fitted");
  const auto line = [](const char* title, const char* sign, const eval::LogZ& z, double acceptance) {
    fmt::print(
        "{:<12} log Z {} {} (mean of log w); log of the mean {}, ESS {:.1f} of {}; acceptance {:.2f}\n",
        title, sign, app::with_error(z.bound, z.bound_error, 2), app::with_error(z.estimate, z.estimate_error, 2),
        z.ess, z.n, acceptance);
  };
  if (found.forward) line("forward", ">=", *found.forward, found.forward_acceptance);
  if (found.reverse) line("reverse", "<=", *found.reverse, found.reverse_acceptance);
  if (found.reverse)
    fmt::print("{:<12} <= holds if these starts are samples of the model{}: {}\n", "",
               samples_ ? "" : ", which data are not unless it has learnt them perfectly",
               samples_ ? samples_->description() : images_->description());
  if (const auto gap = found.gap())
    fmt::print("gap          {:.2f} nats, {:.4f} bits/dim\n", *gap,
               -eval::bits_per_dim(*gap, found.dimensions).unit);
  if (found.energy)
    fmt::print("energy       {}, mean of {} images\n", app::with_error(found.energy->mean, found.energy->error, 2),
               found.energy->n);
  const auto side = [](const char* title, const eval::LogLikelihood& p, const std::string& how) {
    fmt::print("{:<12} {} nats an image; bits/dim {} in [0,1], {:.4f} in [0,255] ({})\n", title,
               app::with_error(p.nats, p.error, 2), app::with_error(p.bits.unit, p.bits_error, 4), p.bits.byte, how);
  };
  if (found.lowest)
    side("log p, low", *found.lowest,
         "reverse: bits/dim at most this, if its starts are samples of the model");
  if (found.highest) side("log p, high", *found.highest, "forward: bits/dim at least");
  if (found.paired)
    side("log p, paper", *found.paired,
         fmt::format("mean over the {} reverse chains' own images", found.reverse->n));
  fmt::print("bits/dim     {} dimensions; {}\nwritten      {}\n", found.dimensions, kConvention,
             (fs::path(out_) / "likelihood.json").string());
}

int LikelihoodCommand::run(OptionSet& options) {
  check(options);
  make_plan();
  const network::Model model = use_.load();
  const network::Spec& spec = model.parameters.spec();
  if (samples_noise_ < 0) samples_noise_ = spec.sigma0;
  open_data();
  for (const auto& data : {images_, samples_})
    if (data) eval::check_fits(spec.input(1), *data);
  const auto engine = use_.make(model, std::max(std::min(use_.batch, plan_.chains), plan_.pilots));
  const eval::GaussianReference reference = make_reference();
  const json how = parameters(options, model, reference);
  prepare_folder();
  eval::Bridge bridge(*engine, reference);
  eval::AisRun ais(
      bridge, plan_, [this](int64_t first, int64_t count) { return starts(first, count); }, how, state());
  if (resume_) ais.resume();
  {
    const StopFlag stop;
    Progress progress("annealing",
                      (plan_.forward + plan_.reverse) * (plan_.chains + plan_.pilots) * plan_.distributions(),
                      "steps");
    const bool finished = ais.run(stop.flag(), save_every_, [&](const eval::AisRun::Report& r) {
      progress.update(r.done,
                      fmt::format("{}, beta {:.4g}, acceptance {:.2f}", r.phase, r.beta, r.acceptance));
    });
    if (!finished) fail_stopped();
  }
  eval::Energies energies;
  if (images_) {
    Progress progress("energies", images_->size(), "images");
    energies = eval::compute_energies(*engine, *images_, {.batch = use_.batch},
                                [&](int64_t done) { progress.update(done); });
  }
  Progress::clear_line();
  const eval::Likelihood found = eval::likelihood_of(ais, plan_, spec.input(1).count(), energies.energy, !samples_);
  json values = {{"parameters", how},
                 {"result", to_json(found)},
                 {"convention", kConvention},
                 {"reference", {{"mean", reference_}, {"std", reference.std}}},
                 {"images", images_ ? json(images_->description()) : json()},
                 {"reverse_start", (samples_ ? samples_ : images_)->description()},
                 {"leapfrog_steps", ais.eps()},
                 {"log_weights",
                  {{"forward", ais.chains(eval::Direction::forward).log_weight},
                   {"reverse", ais.chains(eval::Direction::reverse).log_weight}}}};
  if (found.reverse) {  // so that nobody takes the number for more than it is
    json& upper = values["result"]["log_z_upper"];
    upper["starts_at_model_samples"] = samples_ != nullptr;
    upper["bounds_log_z"] = "in expectation, if its chains start at samples of the model";
    if (found.lowest) values["result"]["log_p_lower"]["is_bound_if_starts_are_model_samples"] = true;
  }
  write(values, ais);
  if (json_) {
    values["out"] = out_;
    app::print_json(values);
  } else {
    print(found, reference);
  }
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_likelihood() { return std::make_unique<LikelihoodCommand>(); }

}  // namespace mdsm::cli

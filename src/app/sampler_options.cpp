#include "app/sampler_options.h"

#include <algorithm>
#include <map>

#include "core/error.h"
#include "core/hash.h"

namespace mdsm::app {
namespace {

using nlohmann::json;
using Names = std::vector<std::string>;

constexpr double kMaxTemperature = 1e6;
constexpr double kMaxStart = 3;  // noise that hides everything in an image of [0,1]

// Which samplers an option belongs to; one that is not listed belongs to all.
const std::map<std::string, Names>& owners() {
  static const Names tempered = {"annealed", "mala", "hmc"}, chains = {"langevin", "mala", "hmc"};
  static const std::map<std::string, Names> table = {
      {"eps", {"annealed", "langevin", "mala", "hmc"}},
      {"schedule", tempered},
      {"temperature-high", tempered},
      {"temperature-low", tempered},
      {"steps-hot", tempered},
      {"steps-cool", tempered},
      {"steps-end", tempered},
      {"temperature", {"annealed", "langevin", "mala", "hmc"}},
      {"burn-in", chains},
      {"accept", {"mala", "hmc"}},
      {"leapfrog", {"hmc"}},
      {"start-sigma", {"annealed", "langevin", "mala", "hmc"}},
      {"h0", {"fast"}},
      {"beta", {"fast"}},
      {"sigma-end", {"fast"}},
      {"hot", {"fast", "ode"}},
      {"method", {"ode"}},
      {"sigma-max", {"fast", "ode"}},
      {"sigma-min", {"ode"}},
      {"rho", {"ode"}},
  };
  return table;
}

std::string joined(const Names& names) { return fmt::format("{}", fmt::join(names, ", ")); }

bool any_given(const OptionSet& options, const Names& names) {
  return std::ranges::any_of(names, [&](const std::string& name) { return options.given(name); });
}

const Names& phases() {
  static const Names names = {"steps-hot", "steps-cool", "steps-end"};
  return names;
}

}  // namespace

void SamplerOptions::declare(OptionSet& options, const Names& samplers) {
  const auto offered = [&](const char* option) {
    const auto& names = owners().at(option);
    return std::ranges::any_of(
        names, [&](const std::string& name) { return std::ranges::find(samplers, name) != samplers.end(); });
  };
  sampler_ = samplers.front();
  options.group("Sampler");
  if (samplers.size() > 1)
    options.add("sampler", sampler_, "how samples are drawn (docs/sampling.md compares them)")
        .choices(samplers);
  options
      .add("steps", steps_,
           "steps of a sample; ode: intervals; fast: most gradient evaluations; 0 = the sampler's own number")
      .range(0, 1e7);
  if (offered("eps"))
    options.add("eps", eps_, "step size; mala and hmc adapt it, hmc from 0.05").range(1e-6, 10);
  if (offered("schedule")) {
    options.add("schedule", schedule_, "exp, linear, constant, or a file with one temperature a step")
        .meta("exp|linear|constant|FILE");
    options.add("temperature-high", high_, "temperature of the hot phase").range(0, kMaxTemperature);
    options.add("temperature-low", low_, "temperature where cooling ends").range(0, kMaxTemperature);
    options.add("steps-hot", hot_, "steps at the high temperature; hmc: 50").range(0, 1e7);
    options.add("steps-cool", cool_, "steps from high to low; hmc: 200").range(0, 1e7);
    options.add("steps-end", end_, "steps from low to 0; hmc: 20").range(0, 1e7);
    options.add("temperature", temperature_, "of langevin, and of --schedule constant")
        .range(0, kMaxTemperature);
  }
  if (offered("burn-in"))
    options
        .add(
            "burn-in", burn_in_,
            "first steps, which adapt eps and are left out of R-hat and ESS; -1 = half of them, all when the "
            "temperature changes")
        .range(-1, 1e7);
  if (offered("accept")) {
    options.add("accept", target_, "share of proposals to be accepted, which eps is adapted to; mala: 0.574")
        .range(0.01, 0.99);
    options.add("leapfrog", leapfrog_, "leapfrog steps a proposal").range(1, 10000);
  }
  if (offered("start-sigma"))
    options.add("start-sigma", start_sigma_, "samples start at 0.5 + this times normal noise").range(0, 1000);
  options.add("h0", h0_, "fast: share of the noise removed in the first step").range(0.0001, 1);
  options.add("beta", beta_, "fast: 1 puts no fresh noise in, 0 as much as was removed").range(0, 1);
  options.add("sigma-end", sigma_end_, "fast: noise level at which a sample is done").range(0, 1000);
  options
      .add("hot", hot_steps_,
           "fast, ode: first steps that put back all the noise they remove, so that the start is forgotten")
      .range(0, 1e7);
  options
      .add("sigma-max", sigma_max_,
           "fast, ode: noise level of the start; by default the highest of the model's training, at most 3")
      .range(1e-6, 1000);
  if (offered("method")) {
    options.add("method", method_, "ode: integration").choices({"euler", "heun"});
    options.add("sigma-min", sigma_min_, "ode: last noise level").range(1e-6, 1000);
    options.add("rho", rho_, "ode: 1 spaces the levels evenly, more puts them near the last").range(1, 100);
  }
  options.add("jump", jump_, "end with one denoising jump; --no-jump leaves it out");
}

bool SamplerOptions::uses(const std::string& option) const {
  const auto found = owners().find(option);
  return found == owners().end() || std::ranges::find(found->second, sampler_) != found->second.end();
}

// The more noise, the sooner a start is forgotten; but the network knows nothing about noise above what it
// was trained on.
void SamplerOptions::take_noise_range(OptionSet& options, const network::Model& model) const {
  const json trained = model.info.value("trained", json());
  if ((sampler_ != "fast" && sampler_ != "ode") || !trained.is_object() || !trained.contains("noise")) return;
  const json& noise = trained["noise"];
  for (const char* key : {"sigma_max", "sigma"})
    if (noise.is_object() && noise.contains(key) && noise[key].is_number())
      if (const auto top = noise[key].get<double>(); top > sigma_min_)
        options.set_default("sigma-max", fmt::format("{}", std::min(top, kMaxStart)));
}

void SamplerOptions::take_model_defaults(OptionSet& options, const network::Model& model) const {
  const json& own = model.info.value("sampling", json());
  if (!own.is_object() || sampler_ != "annealed") return;
  const auto take = [&](const char* option, const json& value) {
    if (value.is_number()) options.set_default(option, value.dump());
  };
  take("eps", own.value("eps", json()));
  if (const json range = own.value("temperature", json()); range.is_array() && range.size() == 2) {
    take("temperature-high", range[0]);
    take("temperature-low", range[1]);
  }
  take("steps-hot", own.value("steps_hot", json()));
  take("steps-cool", own.value("steps_cool", json()));
  take("steps-end", own.value("steps_end", json()));
}

void SamplerOptions::take_sampler_defaults(OptionSet& options) {
  const auto set = [&](const char* name, auto value) { options.set_default(name, fmt::format("{}", value)); };
  if (sampler_ == "mala") {
    set("eps", sample::mala_options().eps);
    set("accept", sample::mala_options().target);
  } else if (sampler_ == "hmc") {  // as many gradients as the others
    set("eps", sample::HmcOptions{}.eps);
    set("steps-hot", 50);
    set("steps-cool", 200);
    set("steps-end", 20);
  }
  if (options.given("steps") && steps_ == 0)
    fail_usage("use 1 or more, or leave it out", "--steps: '0' is no number of steps");
  if (sampler_ == "fast") set("steps", sample::FastOptions{}.evaluations);
  if (sampler_ == "ode") {
    set("steps", sample::OdeOptions{}.steps);
    set("hot", sample::OdeOptions{}.hot);
  }
  if (fixed_temperature()) set("steps", sampler_ == "hmc" ? 100 : 1000);
}

bool SamplerOptions::fixed_temperature() const {
  return sampler_ == "langevin" || ((sampler_ == "mala" || sampler_ == "hmc") && schedule_ == "constant");
}

void SamplerOptions::make_temperatures(const OptionSet& options) {
  if (sampler_ == "fast" || sampler_ == "ode") return;
  if (sampler_ == "langevin" || schedule_ == "constant") {
    if (any_given(options, {"temperature-high", "temperature-low", "steps-hot", "steps-cool", "steps-end"}))
      fail_usage("use --temperature and --steps", "at one temperature there are no phases");
    if (steps_ == 0) steps_ = 2700;
    temperatures_ = sample::constant_schedule(temperature_, steps_);
    return;
  }
  if (options.given("temperature"))
    fail_usage("use --temperature-high and --temperature-low, or --schedule constant",
               "--temperature belongs to langevin and to --schedule constant");
  if (schedule_ != "exp" && schedule_ != "linear") {
    std::error_code error;
    if (!fs::exists(schedule_, error))
      fail_usage("use exp, linear, constant or a file of temperatures",
                 "--schedule: '{}' is neither a schedule nor a file", schedule_);
    if (options.given("steps") || any_given(options, phases()))
      fail_usage("leave the steps out", "--schedule {}: the file says how many steps there are", schedule_);
    const std::string text = read_text(schedule_);
    temperatures_ = sample::parse_schedule(text, schedule_);
    schedule_hash_ = content_hash(text.data(), text.size());
    if (const auto hottest = std::ranges::max_element(temperatures_); *hottest > kMaxTemperature)
      fail_usage(fmt::format("use {} or less", kMaxTemperature), "{}: a temperature of {}", schedule_,
                 *hottest);
    return;
  }
  if (steps_ > 0) {
    if (any_given(options, phases()))
      fail_usage("give --steps or the phases",
                 "--steps and --steps-hot, --steps-cool or --steps-end exclude each other");
    hot_ = steps_ * 5 / 27;  // the paper's proportions
    end_ = steps_ * 2 / 27;
    cool_ = steps_ - hot_ - end_;
  }
  temperatures_ = sample::make_schedule({.annealing = sample::annealing_from(schedule_),
                                 .high = high_,
                                 .low = low_,
                                 .hot = hot_,
                                 .cooling = cool_,
                                 .final = end_});
}

void SamplerOptions::resolve(OptionSet& options, const network::Model& model) {
  for (const auto& [option, names] : owners())
    if (options.given(option) && !uses(option))
      fail_usage(fmt::format("leave it out, or use --sampler {}", joined(names)),
                 "--{} has no meaning for --sampler {}", option, sampler_);
  take_model_defaults(options, model);
  take_noise_range(options, model);
  take_sampler_defaults(options);
  make_temperatures(options);
  const auto total = static_cast<int64_t>(temperatures_.size());
  if (fixed_temperature()) {
    options.set_default("burn-in", std::to_string(total / 2));
    if (burn_in_ >= total)
      fail_usage("leave some for the samples", "--burn-in {}: there are {} steps in all", burn_in_, total);
  } else if (sampler_ == "mala" || sampler_ == "hmc") {
    options.set_default("burn-in", std::to_string(total));  // eps follows the temperature all the way
  }
  if (sampler_ == "ode" && !(sigma_max_ > sigma_min_))
    fail_usage("the levels go down", "--sigma-min {} is not below --sigma-max {}", sigma_min_, sigma_max_);
}

sample::HmcOptions SamplerOptions::hmc_options() const {
  return {.eps = eps_,
          .leapfrog = sampler_ == "mala" ? 1 : leapfrog_,
          .target = target_,
          .burn_in = burn_in_,
          .jump = jump_};
}

sample::FastOptions SamplerOptions::fast_options() const {
  return {.h0 = h0_,
          .beta = beta_,
          .sigma_end = sigma_end_,
          .evaluations = steps_,
          .jump = jump_,
          .hot = hot_steps_,
          .sigma_max = sigma_max_};
}

sample::OdeOptions SamplerOptions::ode_options() const {
  return {.method = sample::ode_method_from(method_),
          .steps = steps_,
          .sigma_max = sigma_max_,
          .sigma_min = sigma_min_,
          .rho = rho_,
          .jump = jump_,
          .hot = hot_steps_};
}

std::optional<Tensor> SamplerOptions::start(const Shape& image, std::span<const uint64_t> seeds) const {
  if (sampler_ == "fast" || sampler_ == "ode" || start_sigma_ == 1) return std::nullopt;
  return sample::start_images(image, seeds, start_sigma_);
}

sample::Samples SamplerOptions::draw(const sample::Run& given) const {
  sample::Run run = given;
  const std::optional<Tensor> own = start(run.model.image_shape(), run.seeds);
  if (!run.start && own) run.start = own->view();
  if (sampler_ == "fast") return sample::fast_blind(run, fast_options());
  if (sampler_ == "ode") return sample::ode(run, ode_options());
  if (sampler_ == "langevin")
    return sample::langevin(run, {.temperature = temperature_, .steps = steps_, .burn_in = burn_in_},
                    langevin_options());
  if (sampler_ == "mala") return sample::mala(run, temperatures_, hmc_options());
  if (sampler_ == "hmc") return sample::hmc(run, temperatures_, hmc_options());
  return sample::annealed_langevin(run, temperatures_, langevin_options());
}

json SamplerOptions::parameters(const OptionSet& options) const {
  const json all = options.to_json();
  json values = {{"sampler", sampler_}, {"jump", jump_}};
  for (const auto& [option, names] : owners())
    if (all.contains(option) && uses(option)) values[option] = all[option];
  const bool constant = sampler_ == "langevin" || schedule_ == "constant";
  const bool phased = schedule_ == "exp" || schedule_ == "linear";
  if (constant || !phased)
    for (const char* name : {"temperature-high", "temperature-low", "steps-hot", "steps-cool", "steps-end"})
      values.erase(name);
  if (!constant) values.erase("temperature");
  values["steps"] = temperatures_.empty() ? steps_ : static_cast<int64_t>(temperatures_.size());
  if (!schedule_hash_.empty()) values["schedule-hash"] = schedule_hash_;
  return values;
}

}  // namespace mdsm::app

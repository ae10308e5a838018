#include "sample/temperatures.h"

#include <algorithm>

#include "core/error.h"
#include "core/hash.h"
#include "sample/registry.h"

namespace mdsm::sample {
namespace {

constexpr const char* kPhases[] = {"steps-hot", "steps-cool", "steps-end"};
constexpr const char* kRange[] = {"temperature-high", "temperature-low"};

bool any_given(const OptionSet& options, std::span<const char* const> names) {
  return std::ranges::any_of(names, [&](const char* name) { return options.given(name); });
}

}  // namespace

void Temperatures::declare(OptionSet& options) {
  options.add("steps", steps_, "steps of a sample; 0 = the sampler's own number").range(0, 1e7);
  options.add("schedule", schedule_, "exp, linear, constant, or a file with one temperature a step")
      .meta("exp|linear|constant|FILE");
  options.add("temperature-high", phases_.high, "temperature of the hot phase").range(0, kMaxTemperature);
  options.add("temperature-low", phases_.low, "temperature where cooling ends").range(0, kMaxTemperature);
  options.add("steps-hot", phases_.hot, "steps at the high temperature").range(0, 1e7);
  options.add("steps-cool", phases_.cooling, "steps from high to low").range(0, 1e7);
  options.add("steps-end", phases_.final, "steps from low to 0").range(0, 1e7);
  options.add("temperature", temperature_, "of --schedule constant").range(0, kMaxTemperature);
}

void Temperatures::resolve(const OptionSet& options) {
  check_steps_given(options, steps_);
  for (const auto& [annealing, name] : enum_names(Annealing{}))
    if (schedule_ == name) {
      annealing_ = annealing;
      return make_phases(options);
    }
  read_file(options);
}

void Temperatures::make_phases(const OptionSet& options) {
  if (constant()) {
    if (any_given(options, kPhases) || any_given(options, kRange))
      fail_usage("use --temperature and --steps", "at one temperature there are no phases");
    if (steps_ == 0) steps_ = constant_steps_;
    list_ = constant_schedule(temperature_, steps_);
    return;
  }
  if (options.given("temperature"))
    fail_usage("use --temperature-high and --temperature-low, or --schedule constant",
               "--temperature belongs to langevin and to --schedule constant");
  if (steps_ > 0) {
    if (any_given(options, kPhases))
      fail_usage("give --steps or the phases",
                 "--steps and --steps-hot, --steps-cool or --steps-end exclude each other");
    phases_.hot = steps_ * 5 / 27;  // the paper's proportions
    phases_.final = steps_ * 2 / 27;
    phases_.cooling = steps_ - phases_.hot - phases_.final;
  }
  phases_.annealing = annealing_;
  list_ = make_schedule(phases_);
}

void Temperatures::read_file(const OptionSet& options) {
  if (options.given("temperature"))
    fail_usage("use --temperature-high and --temperature-low, or --schedule constant",
               "--temperature belongs to langevin and to --schedule constant");
  std::error_code error;
  if (!fs::exists(schedule_, error))
    fail_usage("use exp, linear, constant or a file of temperatures",
               "--schedule: '{}' is neither a schedule nor a file", schedule_);
  if (options.given("steps") || any_given(options, kPhases))
    fail_usage("leave the steps out", "--schedule {}: the file says how many steps there are", schedule_);
  const std::string text = read_text(schedule_);
  list_ = parse_schedule(text, schedule_);
  hash_ = content_hash(text.data(), text.size());
  if (const auto hottest = std::ranges::max_element(list_); *hottest > kMaxTemperature)
    fail_usage(fmt::format("use {} or less", kMaxTemperature), "{}: a temperature of {}", schedule_,
               *hottest);
}

void Temperatures::complete(nlohmann::json& values) const {
  if (constant() || !hash_.empty()) {
    for (const char* name : kPhases) values.erase(name);
    for (const char* name : kRange) values.erase(name);
  }
  if (!constant()) values.erase("temperature");
  values["steps"] = steps();
  if (!hash_.empty()) values["schedule-hash"] = hash_;
}

}  // namespace mdsm::sample

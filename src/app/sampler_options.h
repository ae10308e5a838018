// The options that choose and tune a sampler, shared by the commands that sample. An option that the chosen
// sampler has no use for is refused instead of ignored.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/options.h"
#include "network/model_file.h"
#include "sample/fast.h"
#include "sample/hmc.h"
#include "sample/langevin.h"

namespace mdsm::app {

class SamplerOptions {
 public:
  // samplers: the names offered, the first one is the default.
  void declare(OptionSet& options, const std::vector<std::string>& samplers);
  // After parsing: checks, takes the model's own defaults and those of the sampler, reads a schedule file.
  void resolve(OptionSet& options, const network::Model& model);

  sample::Samples draw(const sample::Run& run) const;
  // Where the samples start; nothing where the sampler's own start is the one wanted.
  std::optional<Tensor> start(const Shape& image, std::span<const uint64_t> seeds) const;

  const std::string& sampler() const { return sampler_; }
  // Whether all steps are at one temperature, so that R-hat and the effective sample size mean something.
  bool fixed_temperature() const;
  const std::vector<double>& temperatures() const { return temperatures_; }  // one a step; fast, ode: empty
  sample::LangevinOptions langevin_options() const { return {eps_, jump_}; }
  sample::FastOptions fast_options() const;
  // Everything that the samples depend on, and nothing else.
  nlohmann::json parameters(const OptionSet& options) const;

 private:
  bool uses(const std::string& option) const;
  void take_model_defaults(OptionSet& options, const network::Model& model) const;
  void take_noise_range(OptionSet& options, const network::Model& model) const;
  void take_sampler_defaults(OptionSet& options);
  void make_temperatures(const OptionSet& options);
  sample::HmcOptions hmc_options() const;
  sample::OdeOptions ode_options() const;

  std::string sampler_ = "annealed", schedule_ = "exp", method_ = "heun";
  double eps_ = 0.02, high_ = 100, low_ = 1, temperature_ = 1, start_sigma_ = 1, target_ = 0.65;
  double h0_ = sample::FastOptions{}.h0, beta_ = sample::FastOptions{}.beta, sigma_end_ = sample::FastOptions{}.sigma_end;
  double sigma_max_ = sample::OdeOptions{}.sigma_max, sigma_min_ = sample::OdeOptions{}.sigma_min, rho_ = sample::OdeOptions{}.rho;
  int64_t steps_ = 0, hot_ = 500, cool_ = 2000, end_ = 200, burn_in_ = -1, leapfrog_ = 10,
          hot_steps_ = sample::FastOptions{}.hot;
  bool jump_ = true;
  std::vector<double> temperatures_;
  std::string schedule_hash_;  // of a schedule file's content
};

}  // namespace mdsm::app

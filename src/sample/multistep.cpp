#include "sample/multistep.h"

#include <algorithm>
#include <cmath>

#include "sample/blind.h"
#include "sample/checks.h"
#include "sample/update.h"

namespace mdsm::sample {
namespace {

// The share of the noise that a hot step replaces. Above 1 it goes past the denoised image, which forgets the
// start sooner: with noise that two steps share, the equilibrium of a Gaussian is right for any share
// below 2.
constexpr double kLargeHotShare = 1.4;

void check(const MultistepOptions& options) {
  check_at_least(options.steps, 1, "steps");
  check_at_least(options.hot, 0, "hot");
  check_range(options.churn, 0, 100, "churn");
  check_levels(options.sigma_min, options.sigma_max);
  check_range(options.guidance, 0, 100, "guidance");
  check_range(options.class_weight, 0, 1000, "class weight");
}

// The gradient of the guided energy at x, in place of the model's.
class Guide {
 public:
  Guide(const Run& run, const MultistepOptions& options, const Shape& images) : model_(run.guide) {
    if (!model_) return;
    const double ratio = model_->sigma0() / run.model.sigma0();
    weight_ = static_cast<float>(options.guidance), scale_ = static_cast<float>(ratio * ratio);
    low_ = options.guidance_min, high_ = options.guidance_max;
    grad_x_ = Tensor(images);
    energy_.resize(static_cast<size_t>(images.n));
  }

  void apply(Chains& chains, double sigma) {
    if (!model_ || weight_ == 0 || sigma < low_ || sigma > high_) return;
    model_->energy_and_gradient(chains.x(), energy_, grad_x_.view());
    std::ranges::transform(chains.grad_x().values(), grad_x_.values(), chains.grad_x().values().begin(),
                           [&](float own, float weak) { return own + weight_ * (own - scale_ * weak); });
  }

 private:
  engine::EnergyModel* model_;
  float weight_ = 0, scale_ = 1;  // scale: of the guide's gradient, where its sigma0 is another
  double low_ = 0, high_ = 0;
  Tensor grad_x_;
  std::vector<float> energy_;  // not used
};

// Draws samples to what they are to show.
class Pull {
 public:
  Pull(const Run& run, const MultistepOptions& options, const Shape& images) : run_(run), options_(options) {
    if (run.attraction) grad_x_ = Tensor(images);
  }

  void apply(Chains& chains, double sigma) {
    if (!run_.attraction || options_.class_weight == 0 || sigma < options_.class_min ||
        sigma > options_.class_max)
      return;
    run_.attraction(chains.x(), run_.seeds, grad_x_.view());
    const double ratio = sigma / chains.sigma0();
    const auto weight = static_cast<float>(options_.class_weight * ratio * ratio);
    std::ranges::transform(chains.grad_x().values(), grad_x_.values(), chains.grad_x().values().begin(),
                           [&](float own, float pull) { return own + weight * pull; });
  }

 private:
  const Run& run_;
  const MultistepOptions& options_;
  Tensor grad_x_;
};

// Writes x - D', with D' the value of D half a step ahead: (3 D - before)/2, or D in the first step. `before`
// becomes D.
void residual_ahead(std::span<const float> x, std::span<const float> grad_x, float scale, bool first,
                    std::span<float> before, std::span<float> out) {
  const float weight = first ? 0.0f : 0.5f;
  for (size_t i = 0; i < x.size(); ++i) {
    const float denoised = x[i] - scale * grad_x[i];
    out[i] = x[i] - denoised - weight * (denoised - before[i]);
    before[i] = denoised;
  }
}

}  // namespace

Samples multistep(const Run& run, const MultistepOptions& options) {
  check(options);
  Chains chains(run, options.sigma_max,
                run.attraction ? "use a lower --class-weight or --class-max, or more --steps"
                               : "use more --steps or less --churn");
  const double scale = chains.sigma0() * chains.sigma0();
  const int64_t hot = run.start ? 0 : options.hot, steps = hot + options.steps;
  const double ratio =
      std::pow(options.sigma_min / options.sigma_max, 1 / static_cast<double>(options.steps));
  const double keep = std::pow(ratio, 1 + options.churn);
  const double fresh = ratio * std::sqrt(1 - std::pow(ratio, 2 * options.churn));  // noise, in units of sigma
  Tensor before(chains.x().shape), ahead(chains.x().shape);
  Guide guide(run, options, chains.x().shape);
  Pull pull(run, options, chains.x().shape);
  double sigma = options.sigma_max, shared = 0;  // shared: scale of the last hot step's noise
  for (int64_t step = 0;; ++step) {
    chains.evaluate(step);
    chains.report(step, steps, 0, sigma);
    if (step == steps || chains.stop_asked()) return chains.finish(options.jump, step);
    guide.apply(chains, sigma);
    pull.apply(chains, sigma);
    if (step < hot) {
      shared = blended_scale(kLargeHotShare, 1, sigma, shared);
      chains.for_rows(step, [&](int64_t row) {
        return blended_step(chains, row, step, chains.grad_x().image(row), kLargeHotShare * scale, shared);
      });
      continue;
    }
    chains.for_rows(step, [&](int64_t row) {
      const auto x = chains.x().image(row), along = ahead.view().image(row);
      residual_ahead(x, chains.grad_x().image(row), static_cast<float>(scale), step == hot,
                     before.view().image(row), along);
      // Half of draw `step` is in x after a hot step, so the next one is taken.
      return drift_and_diffuse(x, along, static_cast<float>(keep - 1), static_cast<float>(fresh * sigma),
                               chains.noise(row, Draw::step, step + 1));
    });
    sigma *= ratio;
  }
}

}  // namespace mdsm::sample

#include "engine/registry/network_check.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "core/error.h"
#include "core/random.h"
#include "engine/registry/registry.h"
#include "engine/slope_check.h"

namespace mdsm::engine {
namespace {

struct CheckBatch {
  Tensor x, noisy;
  std::vector<float> weight;  // of the mean over the batch, 1 / (n sigma²)
};

// Images in [0,1]; noise from 0.1 to 3, geometric over the batch, as in training.
CheckBatch random_batch(const network::Spec& spec, int64_t n, uint64_t seed) {
  CheckBatch batch{Tensor(spec.input(n)), Tensor(spec.input(n)), {}};
  for (int64_t i = 0; i < n; ++i) {
    const double place = n == 1 ? 0.5 : static_cast<double>(i) / static_cast<double>(n - 1);
    const double sigma = 0.1 * std::pow(30.0, place);
    const auto clean = batch.x.view().image(i), noisy = batch.noisy.view().image(i);
    RandomStream(seed, Purpose::check, 2 * static_cast<uint64_t>(i)).fill_uniform(clean, 0, 1);
    RandomStream(seed, Purpose::check, 2 * static_cast<uint64_t>(i) + 1).fill_normal(noisy);
    for (size_t k = 0; k < noisy.size(); ++k) noisy[k] = clean[k] + static_cast<float>(sigma) * noisy[k];
    batch.weight.push_back(static_cast<float>(1 / (sigma * sigma * static_cast<double>(n))));
  }
  return batch;
}

constexpr double kSlopeTolerance = 1e-2;

}  // namespace

bool NetworkCheck::ok() const {
  return std::all_of(differences.begin(), differences.end(), [](const Difference& d) { return d.ok(); });
}

const Difference& NetworkCheck::worst() const {
  const auto use = [](const Difference& d) {  // of its tolerance; NaN counts as all of it and more
    return std::isnan(d.relative) ? std::numeric_limits<double>::infinity() : d.relative / d.tolerance;
  };
  return *std::max_element(differences.begin(), differences.end(),
                           [&](const Difference& a, const Difference& b) { return use(a) < use(b); });
}

const Difference& NetworkCheck::at(const std::string& what) const {
  for (const Difference& d : differences)
    if (d.what == what) return d;
  fail("this is a bug in the caller", "nothing named '{}' was compared", what);
}

NetworkCheck check_network(const network::Parameters& parameters, const NetworkCheckOptions& options) {
  const CheckBatch batch = random_batch(parameters.spec(), options.batch, options.seed);
  NetworkCheck result;
  auto reference = make_engine({.engine = EngineKind::torch, .device = options.device}, parameters);
  auto native = make_engine({}, parameters);
  result.tested = native->name();
  result.reference = reference->name();
  std::vector<Difference> slopes;
  if (native->has_energy()) slopes.push_back(input_slope(*native, batch.noisy, kSlopeTolerance));
  slopes.push_back(objective_slope(*native, batch.x, batch.noisy, batch.weight, kSlopeTolerance));

  CheckEngine both(std::move(native), std::move(reference), options.tolerance);
  both.set_throwing(false);
  std::vector<float> energy(batch.weight.size()), residual(batch.weight.size());
  Tensor grad_x(batch.x.shape());
  both.energy_and_gradient(batch.noisy, energy, grad_x);
  both.objective_gradient(batch.x, batch.noisy, batch.weight, residual, energy);
  both.optimiser_step({});
  both.energy(batch.noisy, energy);  // with the stepped weights
  result.differences = both.worst();
  result.differences.insert(result.differences.end(), slopes.begin(), slopes.end());
  return result;
}

std::vector<network::Spec> check_matrix() {
  std::vector<network::Spec> specs;
  for (const network::Network network :
       {network::Network::res6, network::Network::res12, network::Network::res18, network::Network::res34})
    for (const network::Head head : {network::Head::quadratic, network::Head::linear})
      for (const int64_t channels : {1, 3})
        for (const int64_t size : {32, 64}) specs.push_back({network, 8, channels, size, head});
  specs.push_back({network::Network::res12, 64, 1, 32, network::Head::quadratic});
  return specs;
}

}  // namespace mdsm::engine

// Energy against temperature while a run cools: the paper's check that annealing is slow enough. A network
// whose gradient is the noise over sigma0² has E = E0 + (pixels/2) T when the samples keep up with T.
#pragma once

#include <optional>
#include <string>

#include "report/sample_store.h"

namespace mdsm::report {

struct EnergyFit {
  double slope = 0;          // of the mean energy, per unit of T: least squares
  double r2 = 0;             // share of the variance that the line explains
  double exponent = 0;       // of T, from the logarithms of E - end; 1 is proportional
  double end = 0;            // mean energy at the end of the run
  double low = 0, high = 0;  // temperatures that it was fitted to
};

// Fitted to the points of the trace at which the temperature has begun to fall and is at least a hundredth of
// the highest: below, the little that is left to lose says more about E0 than about T. Nothing where there
// are fewer than five such points.
std::optional<EnergyFit> fit_energy(const SampleSet& set);

// E - end against T on logarithmic axes with the line of pixels/2, as SVG.
std::string energy_plot(const SampleSet& set, const EnergyFit& fit, const std::string& title);

}  // namespace mdsm::report

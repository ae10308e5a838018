#include "sample/diagnostics.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/error.h"

namespace mdsm::sample {
namespace {

using Chain = std::vector<double>;

double mean_of(const Chain& chain) {
  double sum = 0;
  for (const double v : chain) sum += v;
  return sum / static_cast<double>(chain.size());
}

// Every chain cut into two halves; of an odd number of draws the middle one is left out.
std::vector<Chain> split(std::span<const float> values, int64_t chains, int64_t draws) {
  const int64_t half = draws / 2;
  std::vector<Chain> halves;
  for (int64_t chain = 0; chain < chains; ++chain)
    for (const int64_t first : {int64_t{0}, draws - half}) {
      auto& part = halves.emplace_back();
      for (int64_t i = first; i < first + half; ++i)
        part.push_back(values[static_cast<size_t>(i * chains + chain)]);
    }
  return halves;
}

// Sum over i of (v_i - mean)(v_{i+lag} - mean), divided by the number of draws.
double autocovariance(const Chain& chain, double mean, size_t lag) {
  double sum = 0;
  for (size_t i = 0; i + lag < chain.size(); ++i) sum += (chain[i] - mean) * (chain[i + lag] - mean);
  return sum / static_cast<double>(chain.size());
}

// Geyer's initial monotone sequence on the autocorrelation of all halves together: sums of neighbouring lags
// are positive and fall for a reversible chain, so what does not is noise and ends the sum.
double integrated_time(const std::vector<Chain>& halves, const std::vector<double>& means, double within,
                       double variance) {
  const size_t n = halves[0].size();
  const auto correlation = [&](size_t lag) {
    double sum = 0;
    for (size_t j = 0; j < halves.size(); ++j) sum += autocovariance(halves[j], means[j], lag);
    const double covariance =
        sum / static_cast<double>(halves.size()) * static_cast<double>(n) / static_cast<double>(n - 1);
    return 1 - (within - covariance) / variance;
  };
  double time = -1, last = std::numeric_limits<double>::infinity();
  for (size_t lag = 0; lag + 1 < n; lag += 2) {
    const double pair = correlation(lag) + correlation(lag + 1);
    if (!(pair > 0)) break;
    last = std::min(last, pair);
    time += 2 * last;
  }
  return time;
}

}  // namespace

double ChainDiagnostics::standard_error() const { return std::sqrt(variance / ess); }

ChainDiagnostics diagnose(std::span<const float> values, int64_t chains) {
  if (chains < 1 || values.size() % static_cast<size_t>(chains) != 0)
    fail("this is a bug in the caller", "{} values do not divide into {} chains", values.size(), chains);
  ChainDiagnostics out;
  out.chains = chains;
  out.draws = static_cast<int64_t>(values.size()) / chains;
  out.mean = out.variance = out.r_hat = out.ess = std::numeric_limits<double>::quiet_NaN();
  if (out.draws < 4) return out;

  const auto halves = split(values, chains, out.draws);
  const double m = static_cast<double>(halves.size()), n = static_cast<double>(halves[0].size());
  std::vector<double> means;
  double grand = 0, within = 0, between = 0;
  for (const auto& half : halves) {
    means.push_back(mean_of(half));
    grand += means.back() / m;
    within += autocovariance(half, means.back(), 0) * n / (n - 1) / m;
  }
  for (const double mean : means) between += (mean - grand) * (mean - grand) / (m - 1);
  out.mean = grand;
  out.variance = within * (n - 1) / n + between;
  if (out.variance == 0) {  // nothing moves: no information, whatever the formula says
    out.ess = 1;
    return out;
  }
  out.r_hat = std::sqrt(out.variance / within);
  const double total = m * n;
  // A time below 1 / log10(total) would claim more than antithetic chains can deliver.
  const double time = std::max(integrated_time(halves, means, within, out.variance), 1 / std::log10(total));
  out.ess = total / time;
  return out;
}

}  // namespace mdsm::sample

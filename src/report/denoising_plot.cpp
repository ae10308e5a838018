#include "report/denoising_plot.h"

#include "core/error.h"
#include "plot/plot.h"

namespace mdsm::report {

std::string denoising_plot(const eval::DenoisingBound& bound) {
  plot::PlotSeries line;
  line.x = bound.sigma;
  for (const eval::Mean& loss : bound.loss) {
    line.y.push_back(loss.mean);
    line.low.push_back(loss.mean - loss.std), line.high.push_back(loss.mean + loss.std);
  }
  return plot::svg({fmt::format("denoising: {} images, mean and standard deviation", bound.nats.n),
                    "noise",
                    {{"loss", false, {line}}},
                    true});
}

}  // namespace mdsm::report

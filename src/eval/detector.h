// Tells for one image whether it belongs to a set: fitted once to images that do, then asked about others.
// Three densities see how a model denoises an image at several noise levels: the sizes of its answers and
// errors (norms), the errors by spatial frequency and colour (spectrum), and the errors around every pixel
// (local). They find what was added; a fourth, of the image itself by frequency and colour, finds what was
// taken away (detail). Their scores, each in units of its spread over images held out from the fit, are
// joined to one.
//
// The p-value is that of split conformal prediction: among n more held-out images and the image itself, the
// share of scores at least as high. For an image of the same kind it is below any rate with no more than that
// probability, whatever the model.
#pragma once

#include <array>
#include <functional>
#include <memory>
#include <string>
#include <vector>

#include "core/files.h"
#include "data/dataset.h"
#include "engine/energy_model.h"
#include "eval/feature_density.h"
#include "eval/outlier_features.h"

namespace mdsm::eval {

enum class DetectorPart { norms, spectrum, local, detail };
constexpr auto enum_names(DetectorPart) {
  return names_of<DetectorPart>({{DetectorPart::norms, "norms"},
                                 {DetectorPart::spectrum, "spectrum"},
                                 {DetectorPart::local, "local"},
                                 {DetectorPart::detail, "detail"}});
}
constexpr size_t kDetectorParts = 4;
using PartChoice = std::array<bool, kDetectorParts>;
constexpr PartChoice kAllParts = {true, true, true, true};
PartChoice parse_parts(const std::string& text);  // names, separated by commas
constexpr int64_t kMaxDetectorSide = 1024;        // pixels; the spectrum of larger images takes too long

struct DetectorOptions {
  FeatureOptions features{.energies = false};
  MixtureOptions mixture;        // of the norms
  double rate = 0.01;            // of false alarms
  double hold_out = 0.5;         // share of the images that is held out from the fit
  uint64_t seed = 0;             // of that choice
  PartChoice parts = kAllParts;  // that make up the score
};

struct ImageScore {
  double score = 0, p = 0;
  bool outlier = false;
  std::array<double, kDetectorParts> parts = {};  // each in units of its spread
};

// All that a detector consists of; what a file holds.
struct DetectorState {
  Shape image;  // n = 1
  FeatureOptions features;
  double rate = 0;
  int64_t fitted = 0;                                          // images
  PartChoice joined = kAllParts;                               // which parts make up the score; not none
  std::array<DensityNumbers, kDetectorParts> densities;        // in the order of DetectorPart
  std::array<float, kDetectorParts> centre = {}, spread = {};  // of their scores over held-out images
  std::vector<float> calibration;                              // scores of other held-out images, ascending
  std::array<float, 2> heat = {};  // of pixels: one in ten of good images is above; that of an alarm
};

class Detector {
 public:
  using Done = std::function<void(int64_t evaluations, int64_t of)>;
  static Detector fit(engine::EnergyModel& engine, std::shared_ptr<const data::Dataset> good,
                      const DetectorOptions& options, const Done& done = {});
  // Throws where the numbers are no detector; `where` is for messages.
  Detector(DetectorState state, const std::string& where);

  const DetectorState& state() const { return state_; }
  double threshold() const;  // scores above it are outliers
  double p_value(double score) const;

  // heat: of every pixel (H,W), by how much the errors around it are larger than usual; told in the order of
  // the images.
  using OnHeat = std::function<void(int64_t image, std::span<const float> heat)>;
  std::vector<ImageScore> score(engine::EnergyModel& engine, const data::Dataset& images,
                                const std::function<void(int64_t evaluations)>& done = {},
                                const OnHeat& on_heat = {}) const;

 private:
  // The scores of the parts, as they are.
  std::vector<std::array<double, kDetectorParts>> parts(engine::EnergyModel& engine,
                                                        const data::Dataset& images,
                                                        const std::function<void(int64_t)>& done,
                                                        const OnHeat& on_heat) const;
  ImageScore joined(const std::array<double, kDetectorParts>& parts) const;

  DetectorState state_;
  std::array<FeatureDensity, kDetectorParts> densities_;
};

// more: kept beside the detector, read back as it is.
void save_detector(const fs::path& path, const Detector& detector, const std::string& more);
struct LoadedDetector {
  Detector detector;
  std::string more;
};
LoadedDetector load_detector(const fs::path& path);

}  // namespace mdsm::eval

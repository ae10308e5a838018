#include "app/restore.h"

#include <algorithm>

#include "core/error.h"
#include "restore/denoise.h"
#include "restore/kernel_file.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

std::unique_ptr<restore::LinearMeasurement> make_measurement(const RestoreOptions& options, int64_t size) {
  if (options.task == RestoreTask::deblur)
    return restore::blur_measurement(restore::read_kernel(options.kernel, "--kernel"), size,
                                     options.threshold);
  if (size % options.factor != 0)
    fail_usage("choose one that divides it", "--factor {}: the model's {} pixels are no multiple of it",
               options.factor, size);
  return restore::block_mean_measurement(options.factor);
}

class Restoration {
 public:
  explicit Restoration(const RestoreOptions& options)
      : options_(options),
        model_(options.pictures.use.load()),
        sampling_(options.sampling ? options.sampling(model_) : PictureSampling{}),
        network_(model_.parameters.spec().input(1)),
        measurement_(make_measurement(options, network_.w)),
        work_("restore", options.pictures, options.seed) {}
  RestoreResult run(const std::atomic<bool>& stop);

 private:
  void read_all();
  sample::Samples draw(engine::EnergyModel& engine, int64_t first, int64_t count,
                       const sample::Observer& observer, const std::atomic<bool>& stop) const;
  void keep(const sample::Samples& drawn, int64_t first, const json& how);
  image::Image put_back(int64_t picture, std::span<const float> result) const;
  Tensor shown_measurement() const;
  void write_figure(const json& how, const Tensor& given) const;
  RestoredPicture compared(int64_t picture, const Tensor& given) const;
  json parameters() const;

  // How much larger than the picture its results are.
  int64_t enlargement() const {
    return options_.task == RestoreTask::superres && !options_.degrade ? options_.factor : 1;
  }
  int64_t n() const { return options_.results; }
  int64_t total() const { return work_.count() * n(); }
  uint64_t seed_of(int64_t version) const { return static_cast<uint64_t>(options_.seed + version); }

  const RestoreOptions& options_;
  network::Model model_;
  PictureSampling sampling_;
  Shape network_;
  std::unique_ptr<restore::LinearMeasurement> measurement_;
  PictureWork work_;
  std::vector<data::Fitting> fittings_;  // of the results
  Tensor truth_, measured_;              // with degrade the pictures, and y
  Tensor results_;                       // (pictures x results, C,H,W)
};

// The measurement y of every picture: the picture itself, or with degrade what the task makes of it.
void Restoration::read_all() {
  const int64_t scale = enlargement();
  const Shape small{1, network_.c, network_.h / scale, network_.w / scale};
  truth_ = Tensor(small.with_n(work_.count()));
  data::DataOptions large = work_.fit_options();
  large.crop *= scale;
  large.resize *= scale;
  if (large.pad > 0) large.pad *= scale;
  for (int64_t i = 0; i < work_.count(); ++i) {
    const image::Picture picture = work_.read(i);
    const data::Fitting fitting(picture.shape, small, work_.fit_options(), work_.label(i));
    std::ranges::copy(fitting.fit(picture), truth_.view().image(i).begin());
    const Shape& s = picture.shape;
    fittings_.emplace_back(Shape{1, s.c, s.h * scale, s.w * scale}, network_, large, work_.label(i));
  }
  measured_ = options_.degrade ? measurement_->measure(truth_) : std::move(truth_);
}

image::Image Restoration::put_back(int64_t picture, std::span<const float> result) const {
  const image::Picture given = work_.read(picture);
  const int64_t scale = enlargement();
  return fittings_[static_cast<size_t>(picture)].put_back(
      result, image::resize(given, given.shape.w * scale, given.shape.h * scale));
}

// Results are numbered picture by picture.
sample::Samples Restoration::draw(engine::EnergyModel& engine, int64_t first, int64_t count,
                                  const sample::Observer& observer, const std::atomic<bool>& stop) const {
  Tensor y(measured_.shape().with_n(count));
  std::vector<uint64_t> seeds;
  for (int64_t k = 0; k < count; ++k) {
    std::ranges::copy(measured_.view().image((first + k) / n()), y.view().image(k).begin());
    seeds.push_back(seed_of((first + k) % n()));
  }
  return sampling_.solve({.model = engine, .seeds = seeds, .observer = observer, .stop = &stop},
                         *measurement_, measurement_->lift(y, network_.with_n(count)));
}

void Restoration::keep(const sample::Samples& drawn, int64_t first, const json& how) {
  const int64_t count = drawn.x.shape().n;
  std::ranges::transform(drawn.x.values(), results_.view().images(first, count).data,
                         [](float value) { return std::clamp(value, 0.0f, 1.0f); });
  for (int64_t k = first; k < first + count; ++k)
    work_.write_result(k / n(), k % n(), put_back(k / n(), results_.view().image(k)),
                       picture_text(how, {{"Seeds", std::to_string(seed_of(k % n()))}}));
}

// y at the network's size, every pixel of a smaller one drawn as a block.
Tensor Restoration::shown_measurement() const {
  const Shape& s = measured_.shape();
  Tensor out(network_.with_n(s.n));
  const int64_t block = network_.w / s.w;
  for (int64_t plane = 0; plane < s.n * s.c; ++plane)
    for (int64_t y = 0; y < network_.h; ++y)
      for (int64_t x = 0; x < network_.w; ++x)
        out.data()[(plane * network_.h + y) * network_.w + x] =
            measured_.data()[(plane * s.h + y / block) * s.w + x / block];
  return out;
}

void Restoration::write_figure(const json& how, const Tensor& given) const {
  const bool degrade = options_.degrade;
  const int64_t columns = 1 + n() + (degrade ? 1 : 0), shown = std::min(work_.count(), kMaxInFigure);
  Tensor cells(network_.with_n(shown * columns));
  float* at = cells.data();
  for (int64_t i = 0; i < shown; ++i) {
    at = std::ranges::copy(given.view().image(i), at).out;
    at = std::ranges::copy(results_.view().images(i * n(), n()).values(), at).out;
    if (degrade) at = std::ranges::copy(truth_.view().image(i), at).out;
  }
  const std::string names = fmt::format("measured, {} results{}", n(), degrade ? ", truth" : "");
  work_.write_figure(cells, columns, picture_text(how, {{"Columns", names}}));
}

RestoredPicture Restoration::compared(int64_t picture, const Tensor& given) const {
  RestoredPicture out{work_.entry(picture, fittings_[static_cast<size_t>(picture)]), {}, {}};
  if (!options_.degrade) return out;
  const ConstTensorView truth = truth_.view().images(picture, 1);
  out.psnr_before = restore::psnr(given.view().images(picture, 1), truth)[0];
  for (int64_t v = 0; v < n(); ++v)
    out.psnr_after.push_back(restore::psnr(results_.view().images(picture * n() + v, 1), truth)[0]);
  return out;
}

json Restoration::parameters() const {
  json how = sampling_.parameters;
  how.update(model_parameters(options_.pictures.use.model, model_));
  how.update({{"command", "restore"},
              {"task", to_string(options_.task)},
              {"seed", options_.seed},
              {"degrade", options_.degrade}});
  if (options_.task == RestoreTask::superres)
    how["factor"] = options_.factor;
  else
    how.update({{"kernel", options_.kernel}, {"threshold", options_.threshold}});
  return how;
}

RestoreResult Restoration::run(const std::atomic<bool>& stop) {
  const ModelUse& use = options_.pictures.use;
  read_all();
  results_ = Tensor(network_.with_n(total()));
  const auto engine = use.make(model_, std::min(use.batch, total()));
  work_.prepare_output(n());
  const json how = parameters();
  in_batches("restoring", total(), use.batch, "results", stop,
             [&](int64_t first, int64_t count, const sample::Observer& observer) {
               const sample::Samples drawn = draw(*engine, first, count, observer, stop);
               if (!drawn.stopped) keep(drawn, first, how);
               return !drawn.stopped;
             });
  const Tensor given = shown_measurement();
  write_figure(how, given);
  RestoreResult result{options_.pictures.out, how, {}};
  for (int64_t i = 0; i < work_.count(); ++i) result.pictures.push_back(compared(i, given));
  work_.write_report(to_json(result));
  return result;
}

}  // namespace

RestoreResult run_restore(const RestoreOptions& options, const std::atomic<bool>& stop) {
  return Restoration(options).run(stop);
}

json to_json(const RestoreResult& result) {
  json pictures = json::array();
  for (const RestoredPicture& one : result.pictures) {
    pictures.push_back(
        {{"name", one.picture.name}, {"from", one.picture.from}, {"fitted", one.picture.fitted}});
    if (one.psnr_before)
      pictures.back().update({{"psnr_before", *one.psnr_before}, {"psnr_after", one.psnr_after}});
  }
  return {{"parameters", result.parameters}, {"pictures", pictures}};
}

void print(const RestoreResult& result) {
  for (size_t i = 0; i < std::min(result.pictures.size(), kMaxListed); ++i) {
    const RestoredPicture& one = result.pictures[i];
    fmt::print("{:<40}", one.picture.name);
    if (one.psnr_before) fmt::print(" PSNR {:.2f} ->", *one.psnr_before);
    for (const double value : one.psnr_after) fmt::print(" {:.2f}", value);
    fmt::print(" {}\n", one.picture.fitted);
  }
  fmt::print("written to {}\n", result.out);
}

}  // namespace mdsm::app

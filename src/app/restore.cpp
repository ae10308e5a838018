#include "app/restore.h"

#include <algorithm>

#include "app/restore_windows.h"
#include "core/error.h"
#include "restore/denoise.h"
#include "restore/kernel_file.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

std::unique_ptr<restore::LinearMeasurement> make_measurement(const RestoreOptions& options,
                                                             const Shape& image) {
  if (options.task == RestoreTask::deblur)
    return restore::blur_measurement(restore::read_kernel(options.kernel, "--kernel"), image.h, image.w,
                                     options.threshold);
  if (image.h % options.factor != 0 || image.w % options.factor != 0)
    fail_usage("choose one that divides it", "--factor {}: images of {}x{} pixels are no multiple of it",
               options.factor, image.w, image.h);
  return restore::block_mean_measurement(options.factor);
}

class Restoration {
 public:
  explicit Restoration(const RestoreOptions& options)
      : options_(options),
        model_(options.pictures.use.load()),
        sampling_(options.sampling ? options.sampling(model_) : PictureSampling{}),
        engine_(options.pictures.use, model_),
        work_("restore", options.pictures, model_, options.seed),
        windows_(work_, options, sampling_, model_.parameters.spec(), engine_) {}
  RestoreResult run(const std::atomic<bool>& stop);

 private:
  void fit(int64_t picture);
  Tensor picture(int64_t i) const;
  Tensor measured(int64_t picture, const restore::LinearMeasurement& measurement) const;
  sample::Samples draw(int64_t first, int64_t count, const sample::Observer& observer,
                       const std::atomic<bool>& stop);
  void keep(const sample::Samples& drawn, int64_t first, const json& how);
  bool windows(int64_t picture) const;
  bool restore_large(int64_t picture, int64_t version, const json& how, const sample::Observer& observer,
                     const std::atomic<bool>& stop);
  bool work(int64_t first, int64_t count, const json& how, const sample::Observer& observer,
            const std::atomic<bool>& stop);
  void write(int64_t picture, int64_t version, const image::Picture& result, const json& how);
  image::Picture put_back(int64_t picture, std::span<const float> result) const;
  Tensor shown_measurement(int64_t picture) const;
  void show(int64_t picture, int64_t column, ConstTensorView one);
  void finish(int64_t picture);
  void finish_large(int64_t picture);
  RestoreStart start() const;
  json parameters() const;

  int64_t n() const { return options_.results; }
  int64_t columns() const { return 1 + n() + (options_.degrade ? 1 : 0); }
  image::Image& cell(int64_t picture, int64_t column) {
    return figure_[static_cast<size_t>(picture * columns() + column)];
  }
  int64_t shown() const { return std::min(work_.count(), kMaxInFigure); }
  int64_t total() const { return work_.count() * n(); }
  uint64_t seed_of(int64_t version) const { return static_cast<uint64_t>(options_.seed + version); }
  const Shape& shape(int64_t picture) const { return fittings_[static_cast<size_t>(picture)].shape(); }

  const RestoreOptions& options_;
  network::Model model_;
  PictureSampling sampling_;
  PictureEngine engine_;
  PictureWork work_;
  EnlargementWindows windows_;
  std::vector<data::Fitting> given_, fittings_;  // of the pictures, and of the results
  std::vector<image::Image> figure_;
  std::vector<RestoredPicture> restored_;
};

// The picture is fitted to the size that its result comes from, a fraction of the network's own where that is
// fixed.
void Restoration::fit(int64_t i) {
  const network::Spec& spec = model_.parameters.spec();
  const data::Sizes sizes = options_.pictures.use.takes_any_size(spec) ? data::Sizes::any : data::Sizes::own;
  const int64_t scale = options_.enlargement();
  const Shape large = spec.input(1), small{1, large.c, large.h / scale, large.w / scale};
  data::DataOptions options = work_.fit_options();
  const Shape s = work_.read(i).shape;
  given_.emplace_back(s, small, options, work_.label(i), sizes);
  options.crop *= scale;
  options.resize *= scale;
  if (options.pad > 0) options.pad *= scale;
  fittings_.emplace_back(Shape{1, s.c, s.h * scale, s.w * scale}, large, options, work_.label(i), sizes);
  make_measurement(options_, shape(i));  // says when the task does not fit the picture
}

Tensor Restoration::picture(int64_t i) const {
  const data::Fitting& fitting = given_[static_cast<size_t>(i)];
  Tensor out(fitting.shape());
  std::ranges::copy(fitting.fit(work_.read(i)), out.data());
  return out;
}

// The measurement y: the picture itself, or with degrade what the task makes of it.
Tensor Restoration::measured(int64_t i, const restore::LinearMeasurement& measurement) const {
  return options_.degrade ? measurement.measure(picture(i)) : picture(i);
}

image::Picture Restoration::put_back(int64_t picture, std::span<const float> result) const {
  const image::Picture given = work_.read(picture);
  const int64_t scale = options_.enlargement();
  return fittings_[static_cast<size_t>(picture)].put_back(
      result, image::resize(given, given.shape.w * scale, given.shape.h * scale));
}

// Results are numbered picture by picture.
sample::Samples Restoration::draw(int64_t first, int64_t count, const sample::Observer& observer,
                                  const std::atomic<bool>& stop) {
  const Shape& image = shape(first / n());
  const auto measurement = make_measurement(options_, image);
  Tensor y(measurement->measured_shape(image.with_n(count)));
  std::vector<uint64_t> seeds;
  for (int64_t k = 0; k < count; ++k) {
    std::ranges::copy(measured((first + k) / n(), *measurement).values(), y.view().image(k).begin());
    seeds.push_back(seed_of((first + k) % n()));
  }
  engine::EnergyModel& engine = engine_.at(image, count);
  return sampling_.solve({.model = engine, .seeds = seeds, .observer = observer, .stop = &stop}, *measurement,
                         measurement->lift(y, image.with_n(count)), start());
}

void Restoration::show(int64_t picture, int64_t column, ConstTensorView one) {
  if (picture < shown()) cell(picture, column) = figure_cell(one);
}

void Restoration::keep(const sample::Samples& drawn, int64_t first, const json& how) {
  for (int64_t k = 0; k < drawn.x.shape().n; ++k) {
    const int64_t i = (first + k) / n(), version = (first + k) % n();
    Tensor result(shape(i));
    std::ranges::transform(drawn.x.view().image(k), result.data(),
                           [](float value) { return std::clamp(value, 0.0f, 1.0f); });
    show(i, 1 + version, result);
    if (options_.degrade)
      restored_[static_cast<size_t>(i)].psnr_after.push_back(restore::psnr(result, picture(i))[0]);
    write(i, version, put_back(i, result.values()), how);
  }
}

void Restoration::write(int64_t picture, int64_t version, const image::Picture& result, const json& how) {
  work_.write_result(picture, version, result,
                     picture_text(how, {{"Seeds", std::to_string(seed_of(version))}}));
}

// Enlarging looks at nothing but blocks; a blur is undone for the whole picture.
bool Restoration::windows(int64_t i) const {
  return options_.task == RestoreTask::superres &&
         in_windows(options_.pictures, model_.parameters.spec(), fittings_[static_cast<size_t>(i)]);
}

bool Restoration::restore_large(int64_t i, int64_t version, const json& how, const sample::Observer& observer,
                                const std::atomic<bool>& stop) {
  const auto found = windows_.enlarge(i, shape(i), seed_of(version), start(), observer, stop);
  if (!found) return false;
  if (i < shown()) cell(i, 1 + version) = figure_cell(found->picture);
  if (options_.degrade) {
    restored_[static_cast<size_t>(i)].psnr_before = found->psnr_before;
    restored_[static_cast<size_t>(i)].psnr_after.push_back(found->psnr_after);
  }
  write(i, version, found->picture, how);
  return true;
}

bool Restoration::work(int64_t first, int64_t count, const json& how, const sample::Observer& observer,
                       const std::atomic<bool>& stop) {
  if (windows(first / n())) return restore_large(first / n(), first % n(), how, observer, stop);
  const sample::Samples drawn = draw(first, count, observer, stop);
  if (!drawn.stopped) keep(drawn, first, how);
  return !drawn.stopped;
}

// y at the size of the result, every pixel of a smaller one drawn as a block.
Tensor Restoration::shown_measurement(int64_t i) const {
  const Shape& image = shape(i);
  const Tensor small = measured(i, *make_measurement(options_, image));
  const Shape& s = small.shape();
  const int64_t block = image.w / s.w;
  Tensor out(image);
  for (int64_t plane = 0; plane < s.c; ++plane)
    for (int64_t y = 0; y < image.h; ++y)
      for (int64_t x = 0; x < image.w; ++x)
        out.data()[(plane * image.h + y) * image.w + x] =
            small.data()[(plane * s.h + y / block) * s.w + x / block];
  return out;
}

// What is measured beside the results, and with degrade the truth.
void Restoration::finish(int64_t i) {
  if (windows(i)) {
    if (i < shown()) finish_large(i);
    return;
  }
  const Tensor given = shown_measurement(i);
  show(i, 0, given);
  if (!options_.degrade) return;
  show(i, columns() - 1, picture(i));
  restored_[static_cast<size_t>(i)].psnr_before = restore::psnr(given, picture(i))[0];
}

void Restoration::finish_large(int64_t i) {
  const image::Picture given = given_[static_cast<size_t>(i)].coloured(work_.read(i));
  const Shape& s = given.shape;
  const int64_t factor = options_.degrade ? options_.factor : 1;
  cell(i, 0) = figure_cell(image::resize(given, s.w / factor, s.h / factor));
  if (options_.degrade) cell(i, columns() - 1) = figure_cell(given);
}

// All results are made in one way, so a picture that needs windows decides for the others.
RestoreStart Restoration::start() const {
  if (options_.start != RestoreStart::automatic) return options_.start;
  for (int64_t i = 0; i < work_.count(); ++i)
    if (windows(i)) return RestoreStart::measured;
  return RestoreStart::noise;
}

json Restoration::parameters() const {
  json how = sampling_.parameters;
  if (start() == RestoreStart::measured) how.update(from_measured_json(sampling_.from_measured));
  how["start"] = to_string(start());
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
  const network::Spec& spec = model_.parameters.spec();
  if (!options_.pictures.use.takes_any_size(spec))
    make_measurement(options_, spec.input(1));  // before any picture is fitted to it
  for (int64_t i = 0; i < work_.count(); ++i) {
    fit(i);
    restored_.push_back({work_.entry(i, fittings_.back()), {}, {}});
  }
  const BatchPlan plan{total(), std::min(options_.pictures.use.batch, total()),
                       [&](int64_t k) { return shape(k / n()); },
                       [&](int64_t k) { return windows(k / n()); }};
  // Says early what is wrong with it.
  if (windows(0))
    windows_.layout();
  else
    engine_.at(shape(0), batch_of(shape(0), plan.batch));
  work_.prepare_output(n());
  figure_.resize(static_cast<size_t>(shown() * columns()));
  const json how = parameters();
  in_batches("restoring", plan, "results", stop,
             [&](int64_t first, int64_t count, const sample::Observer& observer) {
               return work(first, count, how, observer, stop);
             });
  for (int64_t i = 0; i < work_.count(); ++i) finish(i);
  const std::string names = fmt::format("measured, {} results{}", n(), options_.degrade ? ", truth" : "");
  work_.write_figure(figure_, columns(), picture_text(how, {{"Columns", names}}));
  RestoreResult result{options_.pictures.out, how, restored_};
  work_.write_report(to_json(result));
  return result;
}

}  // namespace

RestoreResult run_restore(const RestoreOptions& options, const std::atomic<bool>& stop) {
  return Restoration(options).run(stop);
}

}  // namespace mdsm::app

#include "app/complete.h"

#include <algorithm>

#include "app/coarse_to_fine.h"
#include "app/complete_windows.h"
#include "core/error.h"
#include "image/window.h"
#include "restore/denoise.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

struct Case {
  image::Mask mask;  // at the picture's size
  data::Fitting fitting;
  image::Mask known;  // as the network sees it; of a picture that is completed in windows, nothing
  bool windows = false;
  image::PixelBox shown{};  // windows: the part for the figure
};

PictureSampling sampling_of(const CompleteOptions& options, const network::Model& model) {
  PictureSampling out = options.sampling ? options.sampling(model) : PictureSampling{};
  out.coarse = options.missing.coarse;
  return out;
}

class Completion {
 public:
  explicit Completion(const CompleteOptions& options)
      : options_(options),
        missing_(options.missing),
        model_(options.pictures.use.load()),
        sampling_(sampling_of(options, model_)),
        engine_(options.pictures.use, model_),
        work_(options.command, options.pictures, model_, options.seed),
        scales_(sampling_, model_, options.pictures.use, options.pictures.window),
        windows_(work_, options.pictures, sampling_, scales_, model_.parameters.spec(), engine_) {}
  CompleteResult run(const std::atomic<bool>& stop);

 private:
  Case make_case(int64_t picture) const;
  Tensor seen(int64_t picture) const;
  Tensor truth(int64_t picture) const;
  sample::Samples draw(int64_t first, int64_t count, const sample::Observer& observer,
                       const std::atomic<bool>& stop);
  void keep(const sample::Samples& drawn, int64_t first, const json& how);
  void write(int64_t picture, int64_t version, const image::Picture& result, const json& how);
  bool complete_large(int64_t picture, int64_t version, const json& how, const sample::Observer& observer,
                      const std::atomic<bool>& stop);
  bool work(int64_t first, int64_t count, const json& how, const sample::Observer& observer,
            const std::atomic<bool>& stop);
  void show_large(int64_t picture);
  image::Picture put_back(int64_t picture, std::span<const float> result) const;
  void show(int64_t picture, int64_t column, ConstTensorView one);
  void write_figure(const json& how);
  json parameters() const;

  int64_t n() const { return options_.completions; }
  image::Image& cell(int64_t picture, int64_t column) {
    return figure_[static_cast<size_t>(picture * (n() + 2) + column)];
  }
  int64_t shown() const { return std::min(work_.count(), kMaxInFigure); }
  uint64_t seed_of(int64_t version) const { return static_cast<uint64_t>(options_.seed + version); }
  const Case& of(int64_t picture) const { return cases_[static_cast<size_t>(picture)]; }
  const Shape& shape(int64_t picture) const { return of(picture).fitting.shape(); }

  const CompleteOptions& options_;
  MissingPixels missing_;
  network::Model model_;
  PictureSampling sampling_;
  PictureEngine engine_;
  PictureWork work_;
  CoarseToFine scales_;
  CompletionWindows windows_;
  std::vector<Case> cases_;
  std::vector<image::Image> figure_;  // n() + 2 columns
  std::vector<CompletedPicture> completed_;
  int64_t evaluations_ = 0;
};

Case Completion::make_case(int64_t i) const {
  const std::string& label = work_.label(i);
  const Shape picture = work_.read(i).shape;
  data::Fitting fitting = work_.fitting(i, picture, model_.parameters.spec());
  image::Mask mask = missing_.mask(picture, seed_of(0), static_cast<uint64_t>(i), label);
  if (!fitting.covers(mask))
    fail_usage("crop less, or not at all", "{}: missing pixels lie outside the cropped part", label);
  const bool windows = in_windows(options_.pictures, model_.parameters.spec(), fitting);
  image::Mask known = windows ? image::Mask{} : fitting.fit(mask);
  return {std::move(mask), std::move(fitting), std::move(known), windows};
}

// The picture as the network sees it, made without the missing pixels.
Tensor Completion::seen(int64_t i) const {
  image::Picture picture = work_.read(i);
  image::blacken(picture, of(i).mask);
  Tensor out(shape(i));
  std::ranges::copy(of(i).fitting.fit(picture), out.data());
  return out;
}

Tensor Completion::truth(int64_t i) const {
  Tensor out(shape(i));
  std::ranges::copy(of(i).fitting.fit(work_.read(i)), out.data());
  return out;
}

// Completions are numbered picture by picture.
sample::Samples Completion::draw(int64_t first, int64_t count, const sample::Observer& observer,
                                 const std::atomic<bool>& stop) {
  const Shape& image = shape(first / n());
  Tensor images(image.with_n(count));
  image::Mask mask{{count, 1, image.h, image.w}, {}};
  std::vector<uint64_t> seeds;
  for (int64_t k = 0; k < count; ++k) {
    const int64_t picture = (first + k) / n();
    std::ranges::copy(seen(picture).values(), images.view().image(k).begin());
    const auto& known = of(picture).known.known;
    mask.known.insert(mask.known.end(), known.begin(), known.end());
    seeds.push_back(seed_of((first + k) % n()));
  }
  engine::EnergyModel& engine = engine_.at(image, count);
  return scales_.inpaint({.model = engine, .seeds = seeds, .observer = observer, .stop = &stop}, images,
                         mask);
}

// Known pixels keep their very values; the others come from the network.
image::Picture Completion::put_back(int64_t picture, std::span<const float> result) const {
  const image::Picture given = work_.read(picture);
  const Case& one = of(picture);
  image::Picture out = one.fitting.put_back(result, given);
  const image::Picture original = one.fitting.coloured(given);
  std::visit(
      [&](auto& values) {
        const auto& kept = std::get<std::decay_t<decltype(values)>>(original.values);
        for (size_t i = 0; i < values.size(); ++i)
          if (one.mask.known[i % one.mask.known.size()]) values[i] = kept[i];
      },
      out.values);
  return out;
}

void Completion::show(int64_t picture, int64_t column, ConstTensorView one) {
  if (picture < shown()) cell(picture, column) = figure_cell(one);
}

void Completion::keep(const sample::Samples& drawn, int64_t first, const json& how) {
  for (const int64_t evaluations : drawn.evaluations) evaluations_ += evaluations;
  for (int64_t k = 0; k < drawn.x.shape().n; ++k) {
    const int64_t picture = (first + k) / n(), version = (first + k) % n();
    Tensor result(shape(picture));
    std::ranges::transform(drawn.x.view().image(k), result.data(),
                           [](float value) { return std::clamp(value, 0.0f, 1.0f); });
    show(picture, 1 + version, result);
    completed_[static_cast<size_t>(picture)].psnr.push_back(restore::psnr(result, truth(picture))[0]);
    write(picture, version, put_back(picture, result.values()), how);
  }
}

void Completion::write(int64_t picture, int64_t version, const image::Picture& result, const json& how) {
  work_.write_result(picture, version, result,
                     picture_text(how, {{"Seeds", std::to_string(seed_of(version))}}));
}

bool Completion::complete_large(int64_t picture, int64_t version, const json& how,
                                const sample::Observer& observer, const std::atomic<bool>& stop) {
  Case& one = cases_[static_cast<size_t>(picture)];
  const auto completed = windows_.complete(picture, one.mask, seed_of(version), observer, stop);
  if (!completed) return false;
  evaluations_ += completed->evaluations;
  completed_[static_cast<size_t>(picture)].psnr.push_back(completed->psnr);
  one.shown = completed->shown;
  if (picture < shown()) cell(picture, 1 + version) = figure_cell(image::cut(completed->picture, one.shown));
  write(picture, version, completed->picture, how);
  return true;
}

bool Completion::work(int64_t first, int64_t count, const json& how, const sample::Observer& observer,
                      const std::atomic<bool>& stop) {
  if (of(first / n()).windows) return complete_large(first / n(), first % n(), how, observer, stop);
  const sample::Samples drawn = draw(first, count, observer, stop);
  if (!drawn.stopped) keep(drawn, first, how);
  return !drawn.stopped;
}

// The first window of a picture, masked and as given.
void Completion::show_large(int64_t i) {
  const image::PixelBox& box = of(i).shown;
  image::Picture part = of(i).fitting.coloured(work_.read(i));
  part = image::cut(part, box);
  cell(i, n() + 1) = figure_cell(part);
  const image::Mask hidden = image::cut(of(i).mask, box);
  image::paste(Tensor(part.shape, 0.5f), {0, 0, box.width, box.height}, part, &hidden);
  cell(i, 0) = figure_cell(part);
}

void Completion::write_figure(const json& how) {
  for (int64_t i = 0; i < shown(); ++i) {
    if (of(i).windows) {
      show_large(i);
      continue;
    }
    Tensor masked = seen(i);
    const auto& known = of(i).known.known;
    for (size_t k = 0; k < masked.values().size(); ++k)
      if (!known[k % known.size()]) masked.values()[k] = 0.5f;
    show(i, 0, masked);
    show(i, n() + 1, truth(i));
  }
  work_.write_figure(
      figure_, n() + 2,
      picture_text(how, {{"Columns", fmt::format("masked, {} completions, picture as given", n())}}));
}

json Completion::parameters() const {
  json how = sampling_.parameters;
  how.update(model_parameters(options_.pictures.use.model, model_));
  how.update({{"command", options_.command}, {"missing", missing_.text()}, {"seed", options_.seed}});
  return how;
}

CompleteResult Completion::run(const std::atomic<bool>& stop) {
  for (int64_t i = 0; i < work_.count(); ++i) {
    cases_.push_back(make_case(i));
    completed_.push_back(
        {work_.entry(i, of(i).fitting), of(i).mask.missing_share(), scales_.scales(shape(i)), {}});
  }
  const int64_t total = work_.count() * n();
  const BatchPlan plan{total, std::min(options_.pictures.use.batch, total),
                       [&](int64_t k) { return shape(k / n()); },
                       [&](int64_t k) { return of(k / n()).windows; }};
  // Says early what is wrong with it.
  if (of(0).windows)
    completion_windows(options_.pictures, model_.parameters.spec());
  else
    engine_.at(shape(0), batch_of(shape(0), plan.batch));
  work_.prepare_output(n());
  figure_.resize(static_cast<size_t>(shown() * (n() + 2)));
  const json how = parameters();
  in_batches("completing", plan, "completions", stop,
             [&](int64_t first, int64_t count, const sample::Observer& observer) {
               return work(first, count, how, observer, stop);
             });
  write_figure(how);
  CompleteResult result{options_.command, options_.pictures.out, how, n(), evaluations_, completed_};
  work_.write_report(to_json(result));
  return result;
}

}  // namespace

CompleteResult run_complete(const CompleteOptions& options, const std::atomic<bool>& stop) {
  return Completion(options).run(stop);
}

}  // namespace mdsm::app

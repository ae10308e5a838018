#include "app/complete.h"

#include <algorithm>

#include "core/error.h"
#include "restore/denoise.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

struct Case {
  image::Mask mask;  // at the picture's size
  data::Fitting fitting;
  std::vector<float> seen;  // (C,H,W) at the network's size, made without the missing pixels
  image::Mask known;        // at the network's size
};

class Completion {
 public:
  explicit Completion(const CompleteOptions& options)
      : options_(options),
        missing_(options.missing),
        model_(options.pictures.use.load()),
        sampling_(options.sampling ? options.sampling(model_) : PictureSampling{}),
        network_(model_.parameters.spec().input(1)),
        work_(options.command, options.pictures, options.seed) {}
  CompleteResult run(const std::atomic<bool>& stop);

 private:
  Case make_case(int64_t picture) const;
  sample::Samples draw(engine::EnergyModel& engine, int64_t first, int64_t count,
                       const sample::Observer& observer, const std::atomic<bool>& stop) const;
  void keep(const sample::Samples& drawn, int64_t first, const json& how);
  image::Image put_back(int64_t picture, std::span<const float> result) const;
  void write_figure(const json& how) const;
  CompletedPicture compared(int64_t picture) const;
  json parameters() const;

  int64_t n() const { return options_.completions; }
  uint64_t seed_of(int64_t version) const { return static_cast<uint64_t>(options_.seed + version); }
  const Case& of(int64_t picture) const { return cases_[static_cast<size_t>(picture)]; }

  const CompleteOptions& options_;
  MissingPixels missing_;
  network::Model model_;
  PictureSampling sampling_;
  Shape network_;
  PictureWork work_;
  std::vector<Case> cases_;
  Tensor results_;  // (pictures x completions, C,H,W)
  int64_t evaluations_ = 0;
};

Case Completion::make_case(int64_t i) const {
  const std::string& label = work_.label(i);
  image::Picture picture = work_.read(i);
  data::Fitting fitting(picture.shape, network_, work_.fit_options(), label);
  image::Mask mask = missing_.mask(picture.shape, seed_of(0), static_cast<uint64_t>(i), label);
  if (!fitting.covers(mask))
    fail_usage("crop less, or not at all", "{}: missing pixels lie outside the cropped part", label);
  image::blacken(picture, mask);
  std::vector<float> seen = fitting.fit(picture);
  image::Mask known = fitting.fit(mask);
  return {std::move(mask), std::move(fitting), std::move(seen), std::move(known)};
}

// Completions are numbered picture by picture.
sample::Samples Completion::draw(engine::EnergyModel& engine, int64_t first, int64_t count,
                                 const sample::Observer& observer, const std::atomic<bool>& stop) const {
  Tensor images(network_.with_n(count));
  image::Mask mask{{count, 1, network_.h, network_.w}, {}};
  std::vector<uint64_t> seeds;
  for (int64_t k = 0; k < count; ++k) {
    const Case& one = of((first + k) / n());
    std::ranges::copy(one.seen, images.view().image(k).begin());
    mask.known.insert(mask.known.end(), one.known.known.begin(), one.known.known.end());
    seeds.push_back(seed_of((first + k) % n()));
  }
  return sampling_.inpaint({.model = engine, .seeds = seeds, .observer = observer, .stop = &stop}, images,
                           mask);
}

// Known pixels keep their very bytes; the others come from the network.
image::Image Completion::put_back(int64_t picture, std::span<const float> result) const {
  const image::Picture given = work_.read(picture);
  const Case& one = of(picture);
  image::Image out = one.fitting.put_back(result, given);
  const image::Image original = one.fitting.coloured(given);
  for (size_t p = 0; p < one.mask.known.size(); ++p)
    if (one.mask.known[p])
      std::copy_n(original.pixels.begin() + static_cast<int64_t>(p) * out.channels, out.channels,
                  out.pixels.begin() + static_cast<int64_t>(p) * out.channels);
  return out;
}

void Completion::keep(const sample::Samples& drawn, int64_t first, const json& how) {
  const int64_t count = drawn.x.shape().n;
  std::ranges::transform(drawn.x.values(), results_.view().images(first, count).data,
                         [](float value) { return std::clamp(value, 0.0f, 1.0f); });
  for (const int64_t evaluations : drawn.evaluations) evaluations_ += evaluations;
  for (int64_t k = first; k < first + count; ++k)
    work_.write_result(k / n(), k % n(), put_back(k / n(), results_.view().image(k)),
                       picture_text(how, {{"Seeds", std::to_string(seed_of(k % n()))}}));
}

void Completion::write_figure(const json& how) const {
  const int64_t shown = std::min(work_.count(), kMaxInFigure), columns = n() + 2;
  Tensor cells(network_.with_n(shown * columns));
  for (int64_t i = 0; i < shown; ++i) {
    const Case& one = of(i);
    const auto masked = cells.view().image(i * columns);
    const size_t plane = one.known.known.size();
    for (size_t k = 0; k < masked.size(); ++k) masked[k] = one.known.known[k % plane] ? one.seen[k] : 0.5f;
    for (int64_t v = 0; v < n(); ++v)
      std::ranges::copy(results_.view().image(i * n() + v), cells.view().image(i * columns + 1 + v).begin());
    std::ranges::copy(one.fitting.fit(work_.read(i)), cells.view().image((i + 1) * columns - 1).begin());
  }
  work_.write_figure(
      cells, columns,
      picture_text(how, {{"Columns", fmt::format("masked, {} completions, picture as given", n())}}));
}

CompletedPicture Completion::compared(int64_t picture) const {
  const Case& one = of(picture);
  Tensor truth(network_.with_n(1));
  std::ranges::copy(one.fitting.fit(work_.read(picture)), truth.values().begin());
  CompletedPicture out{work_.entry(picture, one.fitting), one.mask.missing_share(), {}};
  for (int64_t v = 0; v < n(); ++v)
    out.psnr.push_back(restore::psnr(results_.view().images(picture * n() + v, 1), truth)[0]);
  return out;
}

json Completion::parameters() const {
  json how = sampling_.parameters;
  how.update(model_parameters(options_.pictures.use.model, model_));
  how.update({{"command", options_.command}, {"missing", missing_.text()}, {"seed", options_.seed}});
  return how;
}

CompleteResult Completion::run(const std::atomic<bool>& stop) {
  for (int64_t i = 0; i < work_.count(); ++i) cases_.push_back(make_case(i));
  const int64_t total = work_.count() * n();
  const ModelUse& use = options_.pictures.use;
  results_ = Tensor(network_.with_n(total));
  const auto engine = use.make(model_, std::min(use.batch, total));
  work_.prepare_output(n());
  const json how = parameters();
  in_batches("completing", total, use.batch, "completions", stop,
             [&](int64_t first, int64_t count, const sample::Observer& observer) {
               const sample::Samples drawn = draw(*engine, first, count, observer, stop);
               if (!drawn.stopped) keep(drawn, first, how);
               return !drawn.stopped;
             });
  write_figure(how);
  CompleteResult result{options_.command, options_.pictures.out, how, n(), evaluations_, {}};
  for (int64_t i = 0; i < work_.count(); ++i) result.pictures.push_back(compared(i));
  work_.write_report(to_json(result));
  return result;
}

}  // namespace

CompleteResult run_complete(const CompleteOptions& options, const std::atomic<bool>& stop) {
  return Completion(options).run(stop);
}

}  // namespace mdsm::app

#include "cli/completion.h"

#include <algorithm>
#include <cmath>

#include "core/error.h"
#include "restore/denoise.h"
#include "restore/restore.h"
#include "sample/annealed_sampler.h"
#include "sample/fast_sampler.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

struct Case {
  data::HiddenPixels hidden;  // at the picture's size
  data::Fitting fitting;
  std::vector<float> seen;     // (C,H,W) at the network's size, made without the hidden pixels
  std::vector<uint8_t> known;  // (H,W)
};

Case make_case(const CompletionSetup& setup, const Shape& network, size_t i) {
  const std::string& label = setup.job.pictures().labels[i];
  image::Image picture = setup.job.pictures().read(i);
  data::Fitting fitting(picture, network, setup.job.fit_options(), label);
  data::HiddenPixels hidden = setup.mask.hidden(picture, static_cast<uint64_t>(setup.seed), i, label);
  if (!fitting.covers(hidden))
    fail_usage("crop less, or not at all", "{}: missing pixels lie outside the cropped part", label);
  data::blacken(picture, hidden);
  std::vector<uint8_t> known = fitting.fit_hidden(hidden);
  for (uint8_t& value : known) value = value ? 0 : 1;
  std::vector<float> seen = fitting.fit(picture);
  return {std::move(hidden), std::move(fitting), std::move(seen), std::move(known)};
}

class Completion {
 public:
  explicit Completion(const CompletionSetup& setup) : setup_(setup) {}
  int run(OptionSet& options);

 private:
  sample::Samples draw(engine::TrainableEnergy& engine, int64_t first, int64_t count, const BatchControl& control) const;
  bool work(engine::TrainableEnergy& engine, int64_t first, int64_t count, const BatchControl& control, const json& how);
  image::Image put_back(int64_t picture, std::span<const float> result) const;
  void write_figure(const json& how) const;
  json report(const json& how) const;
  void print(const json& report) const;

  int64_t n() const { return setup_.completions; }
  uint64_t seed_of(int64_t version) const { return static_cast<uint64_t>(setup_.seed + version); }

  const CompletionSetup& setup_;
  std::vector<Case> cases_;
  Shape network_;
  Tensor results_;  // (pictures x completions, C,H,W)
  std::vector<int64_t> evaluations_;
};

// Jobs are numbered picture by picture, completion by completion.
sample::Samples Completion::draw(engine::TrainableEnergy& engine, int64_t first, int64_t count, const BatchControl& control) const {
  Tensor images(network_.with_n(count));
  restore::Mask mask{{count, 1, network_.h, network_.w}, {}};
  std::vector<uint64_t> seeds;
  for (int64_t k = 0; k < count; ++k) {
    const Case& one = cases_[static_cast<size_t>((first + k) / n())];
    std::ranges::copy(one.seen, images.view().image(k).begin());
    mask.known.insert(mask.known.end(), one.known.begin(), one.known.end());
    seeds.push_back(seed_of((first + k) % n()));
  }
  const std::optional<Tensor> start = setup_.sampler.sampler().start(engine.image_shape(), seeds);
  sample::Run run{.model = engine, .seeds = seeds, .observer = control.observer, .stop = &control.stop};
  if (start) run.start = start->view();
  const sample::Sampler& sampler = setup_.sampler.sampler();
  if (const auto* annealed = dynamic_cast<const sample::AnnealedSampler*>(&sampler))
    return restore::inpaint_annealed(run, images, mask, annealed->temperatures(), annealed->langevin());
  return restore::inpaint_fast(run, images, mask, dynamic_cast<const sample::FastSampler&>(sampler).options());
}

// Known pixels keep their very bytes; the others come from the network.
image::Image Completion::put_back(int64_t picture, std::span<const float> result) const {
  const auto i = static_cast<size_t>(picture);
  const image::Image given = setup_.job.pictures().read(i);
  const Case& one = cases_[i];
  image::Image out = one.fitting.put_back(result, given);
  const image::Image original = one.fitting.coloured(given);
  for (size_t p = 0; p < one.hidden.size(); ++p)
    if (!one.hidden[p])
      std::copy_n(original.pixels.begin() + static_cast<int64_t>(p) * out.channels, out.channels,
                  out.pixels.begin() + static_cast<int64_t>(p) * out.channels);
  return out;
}

bool Completion::work(engine::TrainableEnergy& engine, int64_t first, int64_t count, const BatchControl& control,
                      const json& how) {
  sample::Samples drawn = draw(engine, first, count, control);
  if (drawn.stopped) return false;
  for (float& value : drawn.x.values()) value = std::clamp(value, 0.0f, 1.0f);
  std::ranges::copy(drawn.x.values(), results_.view().images(first, count).values().begin());
  evaluations_.insert(evaluations_.end(), drawn.evaluations.begin(), drawn.evaluations.end());
  for (int64_t k = first; k < first + count; ++k) {
    const std::map<std::string, std::string> text = {{"Seeds", std::to_string(seed_of(k % n()))}};
    setup_.job.write_result(k / n(), k % n(), n(), put_back(k / n(), results_.view().image(k)),
                            app::picture_text(how, text));
  }
  return true;
}

void Completion::write_figure(const json& how) const {
  const int64_t shown = std::min(setup_.job.count(), PictureJob::kMaxInFigure), columns = n() + 2;
  Tensor cells(network_.with_n(shown * columns));
  for (int64_t i = 0; i < shown; ++i) {
    const Case& one = cases_[static_cast<size_t>(i)];
    const auto masked = cells.view().image(i * columns);
    const size_t plane = one.known.size();
    for (size_t k = 0; k < masked.size(); ++k) masked[k] = one.known[k % plane] ? one.seen[k] : 0.5f;
    for (int64_t v = 0; v < n(); ++v)
      std::ranges::copy(results_.view().image(i * n() + v), cells.view().image(i * columns + 1 + v).begin());
    const std::vector<float> truth = one.fitting.fit(setup_.job.pictures().read(static_cast<size_t>(i)));
    std::ranges::copy(truth, cells.view().image((i + 1) * columns - 1).begin());
  }
  setup_.job.write_figure(
      cells, columns,
      app::picture_text(how, {{"Columns", fmt::format("masked, {} completions, picture as given", n())}}));
}

json Completion::report(const json& how) const {
  json pictures = json::array();
  for (int64_t i = 0; i < setup_.job.count(); ++i) {
    const Case& one = cases_[static_cast<size_t>(i)];
    Tensor truth(network_.with_n(1));
    std::ranges::copy(one.fitting.fit(setup_.job.pictures().read(static_cast<size_t>(i))),
                      truth.values().begin());
    json ratios = json::array();
    for (int64_t v = 0; v < n(); ++v) {
      const double ratio = restore::psnr(results_.view().images(i * n() + v, 1), truth)[0];
      ratios.push_back(std::isfinite(ratio) ? json(ratio) : json());
    }
    const auto missing = std::ranges::count(one.hidden, 1);
    pictures.push_back({{"name", setup_.job.pictures().names[static_cast<size_t>(i)].string()},
                        {"from", setup_.job.pictures().labels[static_cast<size_t>(i)]},
                        {"fitted", one.fitting.text()},
                        {"missing", static_cast<double>(missing) / static_cast<double>(one.hidden.size())},
                        {"psnr", ratios}});
  }
  int64_t evaluations = 0;
  for (const int64_t count : evaluations_) evaluations += count;
  return {{"parameters", how},
          {"completions", n()},
          {"gradient_evaluations", evaluations},
          {"pictures", pictures}};
}

void Completion::print(const json& report) const {
  fmt::print("{:<40} missing  PSNR of the completions against the picture\n", "picture");
  const json& pictures = report["pictures"];
  for (size_t i = 0; i < std::min(pictures.size(), PictureJob::kMaxListed); ++i) {
    std::string ratios;
    for (const json& ratio : pictures[i]["psnr"])
      ratios += ratio.is_number() ? fmt::format(" {:.2f}", ratio.get<double>()) : " exact";
    fmt::print("{:<40} {:>6.1f}% {}\n", pictures[i]["name"].get<std::string>(),
               100 * pictures[i]["missing"].get<double>(), ratios);
    const auto fitted = pictures[i]["fitted"].get<std::string>();
    if (!fitted.empty()) fmt::print("  {}\n", fitted);
  }
  if (pictures.size() > PictureJob::kMaxListed)
    fmt::print("... and {} more, all in {}.json\n", pictures.size() - PictureJob::kMaxListed, setup_.command);
  fmt::print("{} gradient evaluations; written to {}\n", report["gradient_evaluations"].get<int64_t>(),
             setup_.job.out());
}

int Completion::run(OptionSet& options) {
  PictureJob& job = setup_.job;
  setup_.mask.resolve(options);
  const network::Model model = job.use.load();
  setup_.sampler.resolve(options, model);
  network_ = model.parameters.spec().input(1);
  job.data.seed = static_cast<uint64_t>(setup_.seed);
  job.open();
  for (int64_t i = 0; i < job.count(); ++i)
    cases_.push_back(make_case(setup_, network_, static_cast<size_t>(i)));
  const int64_t total = job.count() * n();
  results_ = Tensor(network_.with_n(total));
  const auto engine = job.use.make(model, std::min(job.use.batch, total));
  job.prepare_output(n());
  json how = setup_.sampler.parameters();
  how.update(app::model_parameters(job.use.model, model));
  how.update({{"command", setup_.command}, {"missing", setup_.mask.text()}, {"seed", setup_.seed}});
  in_batches("completing", total, job.use.batch, "completions",
             [&](int64_t first, int64_t count, const BatchControl& control) {
               return work(*engine, first, count, control, how);
             });
  write_figure(how);
  const json found = report(how);
  job.write_report(found);
  if (!job.prints_json()) print(found);
  return 0;
}

}  // namespace

int run_completion(OptionSet& options, const CompletionSetup& setup) {
  return Completion(setup).run(options);
}

}  // namespace mdsm::cli

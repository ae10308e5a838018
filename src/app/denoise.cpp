#include "app/denoise.h"

#include <algorithm>
#include <cstring>

#include "app/photo_model.h"
#include "app/world.h"
#include "core/error.h"
#include "core/random.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

void clamp(Tensor& x) {
  for (float& value : x.values()) value = std::clamp(value, 0.0f, 1.0f);
}

Tensor copy_of(ConstTensorView x) {
  Tensor out(x.shape);
  std::ranges::copy(x.values(), out.data());
  return out;
}

using Pictures = std::vector<Tensor>;  // one each

std::vector<double> psnr(const Pictures& images, const Pictures& truth) {
  std::vector<double> out;
  for (size_t i = 0; i < images.size(); ++i) out.push_back(restore::psnr(images[i], truth[i])[0]);
  return out;
}

using Row = std::vector<image::Image>;  // of the figure

Row figure_row(const Pictures& images) {
  Row row;
  for (size_t i = 0; i < std::min<size_t>(images.size(), kMaxInFigure); ++i)
    row.push_back(figure_cell(images[i]));
  return row;
}

class Denoising {
 public:
  Denoising(const DenoiseOptions& options, const std::atomic<bool>& stop)
      : options_(options),
        stop_(stop),
        model_(options.pictures.use.load()),
        engine_(options.pictures.use, model_),
        work_("denoise", options.pictures, model_, options.seed) {}
  DenoiseResult run();

 private:
  const data::Fitting& fitting(int64_t picture) const { return fittings_[static_cast<size_t>(picture)]; }
  Shape shape(int64_t picture) const { return fitting(picture).shape(); }
  bool compares() const { return options_.add_noise > 0; }
  Tensor given(int64_t first, int64_t count) const;
  void remember(int64_t first, int64_t count);
  void add_noise(int64_t picture, std::span<float> image) const;
  std::string denoise(int64_t first, int64_t count, const sample::Observer& observer);
  void take(int64_t first, int64_t count, const std::string& found, const json& how);
  FilterComparison compared() const;
  json parameters() const;
  void write_figure(const json& how, const std::optional<FilterComparison>& comparison) const;

  const DenoiseOptions& options_;
  const std::atomic<bool>& stop_;
  network::Model model_;
  PictureEngine engine_;
  PictureWork work_;
  std::vector<data::Fitting> fittings_;
  Row given_row_, result_row_;
  Pictures clean_, noisy_, results_;  // where they are compared; otherwise no more than a batch is kept
  std::vector<double> noise_levels_;
};

void Denoising::add_noise(int64_t picture, std::span<float> image) const {
  std::vector<float> noise(image.size());
  RandomStream(static_cast<uint64_t>(options_.seed), Purpose::added_noise, static_cast<uint64_t>(picture))
      .fill_normal(noise);
  for (size_t k = 0; k < image.size(); ++k) image[k] += static_cast<float>(options_.add_noise) * noise[k];
}

// What the network is to denoise.
Tensor Denoising::given(int64_t first, int64_t count) const {
  Tensor images(shape(first).with_n(count));
  for (int64_t k = 0; k < count; ++k) {
    const auto image = images.view().image(k);
    std::ranges::copy(fitting(first + k).fit(work_.read(first + k)), image.begin());
    if (compares()) add_noise(first + k, image);
  }
  return images;
}

// What was given, for the figure and the comparison.
void Denoising::remember(int64_t first, int64_t count) {
  const Tensor images = given(first, count);
  for (int64_t k = 0; k < count; ++k) {
    const ConstTensorView one = images.view().images(k, 1);
    if (compares()) {
      Tensor& clean = clean_.emplace_back(one.shape);
      std::ranges::copy(fitting(first + k).fit(work_.read(first + k)), clean.data());
      noisy_.push_back(copy_of(one));
    }
    if (first + k < kMaxInFigure) given_row_.push_back(figure_cell(one));
  }
}

// The denoised images, then the noise that was seen in each, as bytes.
std::string Denoising::denoise(int64_t first, int64_t count, const sample::Observer& observer) {
  const int64_t steps = options_.denoise.steps;
  int64_t tiles = 0;
  engine_.on_tile([&](int64_t, int64_t total) {
    sample::StepReport report;
    report.step = ++tiles;
    report.steps = total * steps;
    observer(report);
    if (stop_) fail("what is finished stays; --force starts again", "stopped in {}", work_.label(first));
  });
  engine::EnergyModel& engine = engine_.at(shape(first), count);
  restore::Denoised found = restore::denoise_in_place(engine, given(first, count), options_.denoise);
  engine_.on_tile({});
  clamp(found.x);
  const auto bytes = [](const auto& values) {
    return std::string(reinterpret_cast<const char*>(values.data()), values.size() * sizeof(values[0]));
  };
  return bytes(found.x.values()) + bytes(std::vector<double>(found.sigma.begin(), found.sigma.end()));
}

void Denoising::take(int64_t first, int64_t count, const std::string& found, const json& how) {
  remember(first, count);
  Tensor x(shape(first).with_n(count));
  if (const size_t wanted = x.values().size_bytes() + static_cast<size_t>(count) * sizeof(double);
      found.size() != wanted)
    fail("start all processes alike", "{} bytes came for {} pictures, not {}", found.size(), count, wanted);
  std::memcpy(x.data(), found.data(), x.values().size_bytes());
  const size_t before = noise_levels_.size();
  noise_levels_.resize(before + static_cast<size_t>(count));
  std::memcpy(noise_levels_.data() + before, found.data() + x.values().size_bytes(),
              static_cast<size_t>(count) * sizeof(double));
  for (int64_t k = 0; k < count; ++k) {
    const TensorView one = x.view().images(k, 1);
    if (compares()) results_.push_back(copy_of(one));
    if (first + k < kMaxInFigure) result_row_.push_back(figure_cell(one));
    work_.write_result(first + k, 0, fitting(first + k).put_back(x.view().image(k), work_.read(first + k)),
                       picture_text(how));
  }
}

// The filters see what the network saw, values outside [0,1] included, and all results are clamped alike.
FilterComparison Denoising::compared() const {
  Pictures clamped;
  for (const Tensor& one : noisy_) clamp(clamped.emplace_back(copy_of(one)));
  return {psnr(noisy_, clean_), psnr(clamped, clean_), psnr(results_, clean_),
          restore::best_median(noisy_, clean_), restore::best_gaussian(noisy_, clean_)};
}

json Denoising::parameters() const {
  json values = model_parameters(options_.pictures.use.model, model_);
  values.update({{"command", "denoise"}, {"steps", options_.denoise.steps}});
  if (options_.denoise.steps > 1) values["share"] = options_.denoise.share;
  if (options_.denoise.strength != 1) values["strength"] = options_.denoise.strength;
  if (options_.add_noise > 0) values.update({{"add-noise", options_.add_noise}, {"seed", options_.seed}});
  return values;
}

void Denoising::write_figure(const json& how, const std::optional<FilterComparison>& comparison) const {
  std::vector<Row> rows = {given_row_, result_row_};
  if (comparison)
    rows = {figure_row(clean_), given_row_, figure_row(comparison->median.x),
            figure_row(comparison->gaussian.x), result_row_};
  Row cells;
  for (const Row& row : rows) cells.insert(cells.end(), row.begin(), row.end());
  const char* names = comparison ? "clean, noisy, median, Gaussian, denoised" : "given, denoised";
  work_.write_figure(cells, static_cast<int64_t>(given_row_.size()), picture_text(how, {{"Rows", names}}));
}

DenoiseResult Denoising::run() {
  distributed::Communicator& world = *options_.pictures.world;
  const int64_t n = work_.count(), batch = std::min(options_.pictures.use.batch, n);
  for (int64_t i = 0; i < n; ++i)
    fittings_.push_back(work_.fitting(i, work_.read(i).shape, model_.parameters.spec()));
  engine_.at(shape(0), batch_of(shape(0), batch));  // says early what is wrong with it
  const json how = parameters();
  check_same(world, {{"pictures", n}, {"batch", batch}, {"model-hash", how.at("model-hash")}});
  if (world.first()) work_.prepare_output(0);
  in_shared_batches(
      world, "denoising", {n, batch, [&](int64_t i) { return shape(i); }}, "pictures", stop_,
      [&](int64_t first, int64_t count, const sample::Observer& observer) {
        return denoise(first, count, observer);
      },
      [&](int64_t first, int64_t count, const std::string& found) { take(first, count, found, how); },
      "tile");
  if (!world.first()) return {};
  DenoiseResult result{options_.pictures.out, how, {}, noise_levels_, {}};
  for (int64_t i = 0; i < n; ++i) result.pictures.push_back(work_.entry(i, fitting(i)));
  if (compares()) result.comparison = compared();
  write_figure(how, result.comparison);
  work_.write_report(to_json(result));
  return result;
}

}  // namespace

DenoiseResult run_denoise(const DenoiseOptions& options, const std::atomic<bool>& stop) {
  DenoiseOptions own = options;
  std::string& model = own.pictures.use.model;
  if (own.pictures.images.empty() && own.pictures.data.source.empty())
    fail_usage("name image files or folders, or a data set with --data", "mdsm denoise: no pictures given");
  if (model.empty() && !own.pictures.images.empty()) model = photo_model(own.pictures);
  return Denoising(own, stop).run();
}

}  // namespace mdsm::app

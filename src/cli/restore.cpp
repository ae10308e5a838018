// mdsm restore: linear inverse problems with a model that was trained for none of them.
#include <algorithm>
#include <charconv>
#include <cmath>

#include "cli/command.h"
#include "cli/completion.h"
#include "core/error.h"
#include "io/npy.h"
#include "restore/denoise.h"
#include "restore/restore.h"

namespace mdsm::cli {
namespace {

using nlohmann::json;

// "box:5", "gaussian:1.5", or a file: .npy of two dimensions, or a grey image whose values become weights.
restore::Kernel kernel_of(const std::string& text) {
  const size_t colon = text.find(':');
  const std::string kind = text.substr(0, colon);
  if (colon != std::string::npos && (kind == "box" || kind == "gaussian")) {
    double value = 0;
    const char* const end = text.data() + text.size();
    const auto [at, error] = std::from_chars(text.data() + colon + 1, end, value);
    if (error != std::errc() || at != end || !std::isfinite(value))
      fail_usage("write box:K or gaussian:S", "--kernel: '{}' has no number", text);
    if (kind == "gaussian") return restore::gaussian_kernel(value);
    if (value != std::floor(value) || value < 1 || value > 1000)
      fail_usage("use an odd number of pixels", "--kernel: '{}' is no size", text);
    return restore::box_kernel(static_cast<int64_t>(value));
  }
  restore::Kernel kernel;
  if (fs::path(text).extension() == ".npy") {
    const io::NpyArray array = io::read_npy(text);
    if (array.shape.size() != 2)
      fail("save an array of rows x columns", "{}: a kernel has two dimensions, not {}", text,
           array.shape.size());
    kernel = {array.shape[0], array.shape[1], {}};
    std::visit([&](const auto& values) { kernel.values.assign(values.begin(), values.end()); }, array.values);
  } else {
    const image::Image image = image::to_grey(image::read_image(text));
    kernel = {image.height, image.width, {image.pixels.begin(), image.pixels.end()}};
  }
  if (find_non_finite(kernel.values) >= 0) fail("use another file", "{}: the kernel is not finite", text);
  double sum = 0;
  for (const float value : kernel.values) sum += value;
  if (!(std::abs(sum) > 1e-6))
    fail("use a kernel that keeps brightness", "{}: the kernel sums to {}", text, sum);
  for (float& value : kernel.values) value = static_cast<float>(value / sum);
  return kernel;
}

class Restore : public Command {
 public:
  const char* name() const override { return "restore"; }
  const char* summary() const override { return "Enlarge, deblur or complete pictures"; }
  void declare(OptionSet& options) override;
  int run(OptionSet& options) override;

 private:
  void check_task(const OptionSet& options) const;
  void read_all(const network::Spec& spec);
  bool work(engine::TrainableEnergy& engine, int64_t first, int64_t count, const BatchControl& control, const json& how);
  image::Image put_back(int64_t picture, std::span<const float> result) const;
  Tensor shown_measurement(const Shape& network) const;
  void write_outputs(const json& how) const;
  bool enlarging() const { return task_ == "superres" && !degrade_; }
  int64_t jobs() const { return job_.count() * n_; }

  PictureJob job_{"restore"};
  MaskChoice mask_;
  app::SamplerOptions sampler_;
  std::string task_ = "superres", kernel_ = "gaussian:1";
  int64_t factor_ = 2, n_ = 1, seed_ = 0;
  double threshold_ = 0.1;
  bool degrade_ = false;
  std::unique_ptr<restore::LinearMeasurement> measurement_;
  std::vector<data::Fitting> fittings_;  // of the results
  Tensor truth_, measured_;        // with --degrade the pictures, and y
  Tensor results_;                 // (pictures x versions, C,H,W)
};

void Restore::declare(OptionSet& options) {
  job_.declare_pictures(options);
  options.group("Task");
  options.add("task", task_, "what was lost: resolution, sharpness or pixels")
      .choices({"superres", "deblur", "missing"})
      .required();
  options.add("factor", factor_, "superres: pixels of the result for one of the picture, along each side")
      .range(2, 16);
  options.add("kernel", kernel_, "deblur: the blur, as box:PIXELS, gaussian:SIGMA, or an .npy or image file")
      .meta("KERNEL");
  options.add("threshold", threshold_, "deblur: frequencies weakened to less than this count as lost")
      .range(0.0001, 1);
  options.add("degrade", degrade_,
              "superres, deblur: spoil the pictures first, and compare with them at the end");
  mask_.declare(options);
  options.group("Results");
  options.add("n", n_, "results for each picture").range(1, 10000);
  options.add("seed", seed_, "of the first result, and of --random-missing").range(0, 9e15);
  sampler_.declare(options, {"fast"});
  job_.declare_output(options);
  options.example("mdsm restore small.png --task superres --factor 2 --model runs/00000");
  options.example(
      "mdsm restore --data fashion-mnist --split test --limit 8 --task deblur --kernel gaussian:1.5 "
      "--degrade "
      "--model runs/00000");
}

void Restore::check_task(const OptionSet& options) const {
  const auto only = [&](const char* option, bool wanted, const char* owner) {
    if (!wanted && options.given(option))
      fail_usage(fmt::format("it belongs to --task {}", owner), "--{} has no meaning for --task {}", option,
                 task_);
  };
  only("factor", task_ == "superres", "superres");
  only("kernel", task_ == "deblur", "deblur");
  only("threshold", task_ == "deblur", "deblur");
  only("degrade", task_ != "missing", "superres and deblur");
  for (const char* option : {"mask", "box", "random-missing"}) only(option, task_ == "missing", "missing");
}

// The measurement y of every picture: the picture itself, or with --degrade what the task makes of it.
void Restore::read_all(const network::Spec& spec) {
  const Shape full = spec.input(1);
  const int64_t scale = enlarging() ? factor_ : 1, n = job_.count();
  const Shape small{1, full.c, full.h / scale, full.w / scale};
  truth_ = Tensor(small.with_n(n));
  data::DataOptions large = job_.fit_options();
  large.crop *= scale;
  large.resize *= scale;
  if (large.pad > 0) large.pad *= scale;
  for (int64_t i = 0; i < n; ++i) {
    const std::string& label = job_.pictures().labels[static_cast<size_t>(i)];
    const image::Image picture = job_.pictures().read(static_cast<size_t>(i));
    const data::Fitting fitting(picture, small, job_.fit_options(), label);
    std::ranges::copy(fitting.fit(picture), truth_.view().image(i).begin());
    if (scale == 1)
      fittings_.push_back(fitting);
    else
      fittings_.emplace_back(image::resize(picture, picture.width * scale, picture.height * scale), full, large,
                             label);
  }
  measured_ = degrade_ ? measurement_->measure(truth_) : std::move(truth_);
}

image::Image Restore::put_back(int64_t picture, std::span<const float> result) const {
  image::Image given = job_.pictures().read(static_cast<size_t>(picture));
  if (enlarging()) given = image::resize(given, given.width * factor_, given.height * factor_);
  return fittings_[static_cast<size_t>(picture)].put_back(result, given);
}

bool Restore::work(engine::TrainableEnergy& engine, int64_t first, int64_t count, const BatchControl& control,
                   const json& how) {
  Tensor y(measured_.shape().with_n(count));
  std::vector<uint64_t> seeds;
  for (int64_t k = 0; k < count; ++k) {
    std::ranges::copy(measured_.view().image((first + k) / n_), y.view().image(k).begin());
    seeds.push_back(static_cast<uint64_t>(seed_ + (first + k) % n_));
  }
  const Tensor lifted = measurement_->lift(y, engine.spec().input(count));
  const std::optional<Tensor> start = sampler_.start(engine.image_shape(), seeds);
  sample::Run run{.model = engine, .seeds = seeds, .observer = control.observer, .stop = &control.stop};
  if (start) run.start = start->view();
  sample::Samples drawn = restore::restore(run, *measurement_, lifted, sampler_.fast_options());
  if (drawn.stopped) return false;
  for (float& value : drawn.x.values()) value = std::clamp(value, 0.0f, 1.0f);
  std::ranges::copy(drawn.x.values(), results_.view().images(first, count).values().begin());
  for (int64_t k = first; k < first + count; ++k)
    job_.write_result(k / n_, k % n_, n_, put_back(k / n_, results_.view().image(k)),
                      app::picture_text(how, {{"Seeds", std::to_string(seeds[static_cast<size_t>(k - first)])}}));
  return true;
}

// y at the network's size, every pixel of a smaller one drawn as a block.
Tensor Restore::shown_measurement(const Shape& network) const {
  const Shape& s = measured_.shape();
  Tensor out(network.with_n(s.n));
  const int64_t block = network.w / s.w;
  for (int64_t plane = 0; plane < s.n * s.c; ++plane)
    for (int64_t y = 0; y < network.h; ++y)
      for (int64_t x = 0; x < network.w; ++x)
        out.data()[(plane * network.h + y) * network.w + x] =
            measured_.data()[(plane * s.h + y / block) * s.w + x / block];
  return out;
}

void Restore::write_outputs(const json& how) const {
  const Shape network = results_.shape().with_n(1);
  const Tensor given = shown_measurement(network);
  const int64_t columns = 1 + n_ + (degrade_ ? 1 : 0);
  const int64_t shown = std::min(job_.count(), PictureJob::kMaxInFigure);
  Tensor cells(network.with_n(shown * columns));
  float* at = cells.data();
  for (int64_t i = 0; i < shown; ++i) {
    at = std::ranges::copy(given.view().image(i), at).out;
    at = std::ranges::copy(results_.view().images(i * n_, n_).values(), at).out;
    if (degrade_) at = std::ranges::copy(truth_.view().image(i), at).out;
  }
  job_.write_figure(
      cells, columns,
      app::picture_text(how, {{"Columns", fmt::format("measured, {} results{}", n_, degrade_ ? ", truth" : "")}}));
  json pictures = json::array();
  for (int64_t i = 0; i < job_.count(); ++i) {
    json one = {{"name", job_.pictures().names[static_cast<size_t>(i)].string()},
                {"from", job_.pictures().labels[static_cast<size_t>(i)]},
                {"fitted", fittings_[static_cast<size_t>(i)].text()}};
    if (degrade_) {
      one["psnr_before"] = restore::psnr(given.view().images(i, 1), truth_.view().images(i, 1))[0];
      for (int64_t v = 0; v < n_; ++v)
        one["psnr_after"].push_back(
            restore::psnr(results_.view().images(i * n_ + v, 1), truth_.view().images(i, 1))[0]);
    }
    pictures.push_back(one);
  }
  job_.write_report({{"parameters", how}, {"pictures", pictures}});
  if (job_.prints_json()) return;
  for (size_t i = 0; i < std::min(pictures.size(), PictureJob::kMaxListed); ++i) {
    fmt::print("{:<40}", pictures[i]["name"].get<std::string>());
    if (degrade_) {
      fmt::print(" PSNR {:.2f} ->", pictures[i]["psnr_before"].get<double>());
      for (const json& value : pictures[i]["psnr_after"]) fmt::print(" {:.2f}", value.get<double>());
    }
    fmt::print(" {}\n", pictures[i]["fitted"].get<std::string>());
  }
  fmt::print("written to {}\n", job_.out());
}

int Restore::run(OptionSet& options) {
  check_task(options);
  if (task_ == "missing") return run_completion(options, {job_, mask_, sampler_, "restore", n_, seed_});
  const network::Model model = job_.use.load();
  const network::Spec& spec = model.parameters.spec();
  sampler_.resolve(options, model);
  if (task_ == "superres" && spec.size % factor_ != 0)
    fail_usage("choose one that divides it", "--factor {}: the model's {} pixels are no multiple of it",
               factor_, spec.size);
  measurement_ = task_ == "superres" ? restore::block_mean_measurement(factor_)
                                     : blur_measurement(kernel_of(kernel_), spec.size, threshold_);
  job_.data.seed = static_cast<uint64_t>(seed_);
  job_.open();
  read_all(spec);
  results_ = Tensor(spec.input(jobs()));
  const auto engine = job_.use.make(model, std::min(job_.use.batch, jobs()));
  job_.prepare_output(n_);
  json how = sampler_.parameters(options);
  how.update(app::model_parameters(job_.use.model, model));
  how.update({{"command", "restore"}, {"task", task_}, {"seed", seed_}, {"degrade", degrade_}});
  if (task_ == "superres")
    how["factor"] = factor_;
  else
    how.update({{"kernel", kernel_}, {"threshold", threshold_}});
  in_batches("restoring", jobs(), job_.use.batch, "results",
             [&](int64_t first, int64_t count, const BatchControl& control) {
               return work(*engine, first, count, control, how);
             });
  write_outputs(how);
  return 0;
}

}  // namespace

std::unique_ptr<Command> make_restore() { return std::make_unique<Restore>(); }

}  // namespace mdsm::cli

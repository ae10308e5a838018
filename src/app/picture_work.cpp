#include "app/picture_work.h"

#include <algorithm>

#include "app/output.h"
#include "core/error.h"
#include "core/json.h"
#include "core/progress.h"

namespace mdsm::app {

using nlohmann::json;

PictureWork::PictureWork(std::string command, const PictureOptions& options, const network::Model& model,
                         int64_t seed)
    : command_(std::move(command)), options_(options) {
  data::DataOptions data = options.data;
  data.seed = static_cast<uint64_t>(seed);
  if (options.images.empty() == data.source.empty())
    fail_usage("give image files or folders, or a data set with --data", "mdsm {}: {} given", command_,
               options.images.empty() ? "no pictures" : "both pictures and --data");
  if (options.images.empty()) {
    pictures_ = data::pictures_of(open_images(model, data), data);
    return;
  }
  pictures_ = data::list_pictures(options.images, data.limit);
  data::check_different(pictures_);
  fit_ = data;
  if (pictures_.size() > 1) leave_out_unusable(model.parameters.spec());  // one alone says what is wrong
}

namespace {

// Reading that also refuses a picture whose colours or size the steps do not lead to the network's. first: of
// those refusals.
std::function<image::Picture(size_t)> reading_fit(const data::Pictures& pictures, const Shape& network,
                                                  const data::DataOptions& steps,
                                                  std::optional<Error>& first) {
  return [read = pictures.read, labels = pictures.labels, network, steps, &first](size_t i) {
    image::Picture picture = read(i);
    try {
      data::Fitting(picture.shape, network, steps, labels[i], data::Sizes::any);
    } catch (const Error& error) {
      if (!first) first = error;
      throw;
    }
    return picture;
  };
}

}  // namespace

void PictureWork::leave_out_unusable(const network::Spec& spec) {
  data::DataOptions steps = fit_;
  // To a network of one size, pictures of all sizes can be fitted.
  if (!options_.use.takes_any_size(spec)) steps.resize = 0, steps.pad = 0;
  const size_t all = pictures_.size();
  pictures_.read = reading_fit(pictures_, spec.input(1), steps, unfit_);
  pictures_ = data::readable(std::move(pictures_), left_out_);
  if (count() > 0) return;
  if (unfit_) throw *unfit_;
  fail("use other files", "none of {} pictures can be read: {}", all, fmt::join(left_out_, "; "));
}

PictureEntry PictureWork::entry(int64_t picture, const data::Fitting& fitting) const {
  return {pictures_.names[static_cast<size_t>(picture)].string(), label(picture), fitting.text()};
}

data::Fitting PictureWork::fitting(int64_t picture, const Shape& shape, const network::Spec& spec) const {
  return {shape, spec.input(1), fit_, label(picture),
          options_.use.takes_any_size(spec) ? data::Sizes::any : data::Sizes::own};
}

fs::path PictureWork::result(int64_t picture, int64_t version) const {
  fs::path name = fs::path(options_.out) / pictures_.names[static_cast<size_t>(picture)];
  if (versions_ > 0) name += fmt::format("-{:0{}}", version + 1, std::to_string(versions_).size());
  return name += pictures_.ending(static_cast<size_t>(picture));
}

void PictureWork::prepare_output(int64_t versions) {
  versions_ = versions;
  std::error_code error;
  if (fs::exists(options_.out, error) && !fs::is_directory(options_.out, error))
    fail("name a folder", "{}: is a file", options_.out);
  const fs::path figure = fs::path(options_.out) / "figure.png",
                 report = fs::path(options_.out) / (command_ + ".json");
  check_output(report, options_.force);
  check_output(figure, options_.force);
  for (int64_t i = 0; i < count(); ++i)
    for (int64_t k = 0; k < std::max<int64_t>(1, versions); ++k) {
      const fs::path path = result(i, k);
      if (path == figure)
        fail_usage("rename the picture", "{}: its result would be written over figure.png", label(i));
      check_output(path, options_.force);
    }
  made_folder_ = !fs::exists(options_.out, error);
  make_folder(options_.out);
}

PictureWork::~PictureWork() {
  std::error_code error;
  if (made_folder_) fs::remove(options_.out, error);  // refuses a folder that is not empty
}

void PictureWork::write_result(int64_t picture, int64_t version, const image::Picture& image,
                               const std::map<std::string, std::string>& text) const {
  const fs::path path = result(picture, version);
  make_folder(path.parent_path());
  image::write_picture(path, image, text);
}

void PictureWork::write_figure(std::span<const image::Image> cells, int64_t columns,
                               const std::map<std::string, std::string>& text) const {
  image::write_png(fs::path(options_.out) / "figure.png", image::grid(cells, columns, options_.scale), text);
}

void PictureWork::write_report(const json& report) const {
  write_file(fs::path(options_.out) / (command_ + ".json"), json_text(report, 1) + "\n");
  if (left_out_.empty()) return;
  const std::string hint = fmt::format("the results of the others are in {}", options_.out);
  fail(unfit_ ? fmt::format("{}; {}", hint, unfit_->hint()) : hint, "{} of {} pictures cannot be {}: {}",
       left_out_.size(), pictures_.size() + left_out_.size(), unfit_ ? "used" : "read",
       fmt::join(left_out_, "; "));
}

namespace {

// resize(width, height) where that is too large for a cell of the figure, else whole().
image::Image fitting_cell(int64_t width, int64_t height, const std::function<image::Image()>& whole,
                          const std::function<image::Image(int64_t, int64_t)>& resize) {
  constexpr int64_t kLargest = 256;  // pixels a side
  const int64_t side = std::max(width, height);
  if (side <= kLargest) return whole();
  const auto shrunk = [&](int64_t length) { return std::max<int64_t>(1, length * kLargest / side); };
  return resize(shrunk(width), shrunk(height));
}

}  // namespace

image::Image figure_cell(ConstTensorView one) {
  const image::Image whole = image::to_image(one);
  return fitting_cell(
      whole.width, whole.height, [&] { return whole; },
      [&](int64_t w, int64_t h) { return image::resize(whole, w, h); });
}

image::Image figure_cell(const image::Picture& one) {
  return fitting_cell(
      one.shape.w, one.shape.h, [&] { return image::to_image(one); },
      [&](int64_t w, int64_t h) { return image::to_image(image::resize(one, w, h)); });
}

engine::EnergyModel& PictureEngine::at(const Shape& image, int64_t largest_batch) {
  if (!engine_ || engine_->image_shape() != image.with_n(1))
    engine_ = use_.make_for_pictures(model_, largest_batch, image, [this](int64_t done, int64_t total) {
      if (on_tile_) on_tile_(done, total);
    });
  return *engine_;
}

std::vector<Batch> batches_of(const BatchPlan& plan) {
  std::vector<Batch> found;
  for (int64_t first = 0, size = 0; first < plan.total; first += size) {
    const bool alone = plan.alone && plan.alone(first);
    const int64_t most = alone ? 1 : std::min(batch_of(plan.shape(first), plan.batch), plan.total - first);
    for (size = 1; size < most && plan.shape(first + size) == plan.shape(first);) ++size;
    found.push_back({first, size});
  }
  return found;
}

namespace {

[[noreturn]] void fail_stopped(int64_t done, const BatchPlan& plan, const std::string& unit) {
  fail("what is finished stays; --force starts again", "stopped after {} of {} {}", done, plan.total, unit);
}

sample::Observer shown(Progress& progress, const Batch& batch, const std::string& part) {
  return [&progress, batch, &part](const sample::StepReport& report) {
    progress.update(batch.first, batch.count, report.done(),
                    fmt::format("{} {} of {}", part, report.step, report.steps));
  };
}

}  // namespace

void in_batches(const std::string& label, const BatchPlan& plan, const std::string& unit,
                const std::atomic<bool>& stop,
                const std::function<bool(int64_t, int64_t, const sample::Observer&)>& work,
                const std::string& part) {
  Progress progress(label, plan.total, unit);
  for (const Batch& batch : batches_of(plan)) {
    if (stop) fail_stopped(batch.first, plan, unit);
    const bool finished = work(batch.first, batch.count, shown(progress, batch, part));
    progress.update(finished ? batch.first + batch.count : batch.first);
    if (!finished) fail_stopped(batch.first, plan, unit);
  }
}

void in_shared_batches(distributed::Communicator& world, const std::string& label, const BatchPlan& plan,
                       const std::string& unit, const std::atomic<bool>& stop,
                       const std::function<std::string(int64_t, int64_t, const sample::Observer&)>& work,
                       const std::function<void(int64_t, int64_t, const std::string&)>& take,
                       const std::string& part) {
  Progress progress(label, plan.total, unit);
  const std::vector<Batch> batches = batches_of(plan);
  const auto ranks = static_cast<size_t>(world.size()), rank = static_cast<size_t>(world.rank());
  for (size_t round = 0; round < batches.size(); round += ranks) {
    if (world.any(stop)) fail_stopped(batches[round].first, plan, unit);
    std::string own;
    if (round + rank < batches.size()) {
      const Batch& batch = batches[round + rank];
      own = work(batch.first, batch.count, shown(progress, batch, part));
    }
    const std::vector<std::string> found = world.gather_first(own);
    for (size_t k = 0; k < found.size() && round + k < batches.size(); ++k) {
      const Batch& batch = batches[round + k];
      take(batch.first, batch.count, found[k]);
      progress.update(batch.first + batch.count);
    }
  }
}

}  // namespace mdsm::app

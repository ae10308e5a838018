#include "cli/picture_job.h"

#include <algorithm>

#include "app/output.h"
#include "core/error.h"
#include "core/progress.h"
#include "core/stop_flag.h"
#include "data/data_options.h"

namespace mdsm::cli {

using nlohmann::json;

void PictureJob::declare_pictures(OptionSet& options) {
  options.group("Pictures");
  options.add("images", images_, "PNG or JPEG files and folders of them").meta("IMAGES").positional();
  use.declare_model(options);
  data::declare_data_options(options, data);
}

void PictureJob::declare_output(OptionSet& options) {
  use.declare_engine(options);
  options.group("Output");
  options.add("out", out_, "folder for the results, under the names of the pictures").meta("FOLDER");
  options.add("scale", scale_, "size of a pixel in figure.png").range(1, 16);
  options.add("force", force_, "replace results that exist").command_line_only();
  options.add("json", json_, "print JSON for machines").command_line_only();
}

void PictureJob::open() {
  if (images_.empty() == data.source.empty())
    fail_usage("give image files or folders, or a data set with --data", "mdsm {}: {} given", command_,
               images_.empty() ? "no pictures" : "both pictures and --data");
  if (!images_.empty()) {
    pictures_ = data::list_pictures(images_, data.limit);
    fit_ = data;
    return;
  }
  pictures_ = data::pictures_of(data::open_dataset(data), data);
}

fs::path PictureJob::result(int64_t picture, int64_t version, int64_t versions) const {
  fs::path name = fs::path(out_) / pictures_.names[static_cast<size_t>(picture)];
  if (versions > 0) name += fmt::format("-{:0{}}", version + 1, std::to_string(versions).size());
  return name += ".png";
}

void PictureJob::prepare_output(int64_t versions) {
  std::error_code error;
  if (fs::exists(out_, error) && !fs::is_directory(out_, error)) fail("name a folder", "{}: is a file", out_);
  const fs::path figure = fs::path(out_) / "figure.png", report = fs::path(out_) / (command_ + ".json");
  app::check_output(report, force_);
  app::check_output(figure, force_);
  for (int64_t i = 0; i < count(); ++i)
    for (int64_t k = 0; k < std::max<int64_t>(1, versions); ++k) {
      const fs::path path = result(i, k, versions);
      if (path == figure)
        fail_usage("rename the picture", "{}: its result would be written over figure.png",
                   pictures_.labels[static_cast<size_t>(i)]);
      app::check_output(path, force_);
    }
  made_folder_ = !fs::exists(out_, error);
  make_folder(out_);
}

PictureJob::~PictureJob() {
  std::error_code error;
  if (made_folder_) fs::remove(out_, error);  // refuses a folder that is not empty
}

void PictureJob::write_result(int64_t picture, int64_t version, int64_t versions, const image::Image& image,
                              const std::map<std::string, std::string>& text) const {
  const fs::path path = result(picture, version, versions);
  make_folder(path.parent_path());
  image::write_png(path, image, text);
}

void PictureJob::write_figure(ConstTensorView cells, int64_t columns,
                              const std::map<std::string, std::string>& text) const {
  image::write_png(fs::path(out_) / "figure.png", image::grid(cells, columns, scale_), text);
}

void PictureJob::write_report(const json& report) const {
  write_file(fs::path(out_) / (command_ + ".json"),
             report.dump(1, ' ', false, json::error_handler_t::replace) + "\n");
  if (json_) app::print_json(report);
}

void in_batches(const std::string& label, int64_t total, int64_t batch, const std::string& unit,
                const std::function<bool(int64_t, int64_t, const BatchControl&)>& work) {
  const StopFlag stop;
  Progress progress(label, total, unit);
  for (int64_t first = 0; first < total; first += batch) {
    const int64_t size = std::min(batch, total - first);
    const auto observer = [&](const sample::StepReport& report) {
      progress.update(first + size * report.step / std::max<int64_t>(1, report.steps),
                      fmt::format("step {} of {}", report.step, report.steps));
    };
    const int64_t done = work(first, size, {stop.flag(), observer}) ? first + size : first;
    progress.update(done);
    if (stop.flag() && done < total)
      fail("what is finished stays; --force starts again", "stopped after {} of {} {}", done, total, unit);
  }
}

}  // namespace mdsm::cli

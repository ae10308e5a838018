// What denoise, inpaint and restore share: pictures given as files, folders or a data set, fitted to the
// model; results put back and written under the pictures' names; a figure and a report beside them.
#pragma once

#include <atomic>
#include <functional>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

#include "app/model_use.h"
#include "core/options.h"
#include "core/tensor.h"
#include "data/fitting.h"
#include "data/pictures.h"
#include "sample/sampler.h"

namespace mdsm::cli {

class PictureJob {
 public:
  static constexpr int64_t kMaxInFigure = 16;
  static constexpr size_t kMaxListed = 20;

  // command: name of the report file, and the default of --out.
  explicit PictureJob(std::string command) : command_(std::move(command)), out_(command_) {}

  ~PictureJob();  // a job that failed before its first result leaves no empty folder behind
  PictureJob(const PictureJob&) = delete;
  PictureJob& operator=(const PictureJob&) = delete;

  void declare_pictures(OptionSet& options);  // images by place, the model, --data and the fitting
  void declare_output(OptionSet& options);    // the engine, --out, --scale, --force, --json

  // Lists the pictures. Read and fitted they are one by one, by the command.
  void open();
  const data::Pictures& pictures() const { return pictures_; }
  int64_t count() const { return static_cast<int64_t>(pictures_.size()); }
  // Options for Fitting. Images of a data set have been fitted already as far as the options go.
  const data::DataOptions& fit_options() const { return fit_; }

  // Before the work: refuses results that exist already (without --force), then makes the folder.
  // versions: results of each picture; 0: one, under the name of the picture itself.
  void prepare_output(int64_t versions);
  fs::path result(int64_t picture, int64_t version, int64_t versions) const;
  void write_result(int64_t picture, int64_t version, int64_t versions, const image::Image& image,
                    const std::map<std::string, std::string>& text) const;
  // cells: (rows x columns) images, row by row.
  void write_figure(ConstTensorView cells, int64_t columns,
                    const std::map<std::string, std::string>& text) const;
  // COMMAND.json, and the same on standard output with --json.
  void write_report(const nlohmann::json& report) const;

  bool prints_json() const { return json_; }
  const std::string& out() const { return out_; }
  app::ModelUse use;
  data::DataOptions data;

 private:
  std::string command_, out_;
  std::vector<std::string> images_;
  int64_t scale_ = 2;
  bool force_ = false, json_ = false, made_folder_ = false;
  data::Pictures pictures_;
  data::DataOptions fit_;
};

// What a batch is given: the sampler it runs reports to the observer, and ends when stop becomes true.
struct BatchControl {
  const std::atomic<bool>& stop;
  sample::Observer observer;
};

// Calls work(first, count, control) for batches of 0 .. total-1; it returns false when it was stopped. Ctrl-C
// ends it all with an error that says how far it came; what is finished stays.
void in_batches(const std::string& label, int64_t total, int64_t batch, const std::string& unit,
                const std::function<bool(int64_t, int64_t, const BatchControl&)>& work);

}  // namespace mdsm::cli

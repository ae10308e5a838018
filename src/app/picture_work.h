// What denoising, completing and restoring share: pictures given as files, folders or a data set; results
// written under the pictures' names; a figure and a report beside them.
#pragma once

#include <atomic>
#include <functional>
#include <map>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "app/model_use.h"
#include "core/error.h"
#include "core/tensor.h"
#include "data/fitting.h"
#include "data/pictures.h"
#include "distributed/communicator.h"
#include "sample/sampler.h"

namespace mdsm::app {

struct PictureOptions {
  std::vector<std::string> images;  // files and folders; or none, and a source in
  data::DataOptions data;           // which also says how pictures are fitted; the seed is set by the job
  ModelUse use;
  std::string out;    // folder for the results
  int64_t scale = 2;  // size of a pixel in figure.png
  bool force = false;
  // inpaint, restore: pictures with more pixels than a square of this side are worked on in windows of at
  // most that size; 0 = none.
  int64_t window = 1024;
  distributed::Communicator* world = &distributed::alone();  // share the pictures; rank 0 writes the results
};

// One picture in a job's result.
struct PictureEntry {
  std::string name;    // of its results, without extension
  std::string from;    // where it comes from
  std::string fitted;  // how it was fitted; empty where nothing was to do
};

constexpr int64_t kMaxInFigure = 16;
constexpr size_t kMaxListed = 20;  // pictures printed one by one

class PictureWork {
 public:
  // Lists the pictures; each is read when it is asked for. Those of a folder that cannot be read, or whose
  // colours or size the model does not take, are left out, which write_report() will say. command: name of
  // the report file. seed: of data drawn at random.
  PictureWork(std::string command, const PictureOptions& options, const network::Model& model, int64_t seed);
  ~PictureWork();  // work that failed before its first result leaves no empty folder behind
  PictureWork(const PictureWork&) = delete;
  PictureWork& operator=(const PictureWork&) = delete;

  int64_t count() const { return static_cast<int64_t>(pictures_.size()); }
  image::Picture read(int64_t picture) const { return pictures_.read(static_cast<size_t>(picture)); }
  const std::string& label(int64_t picture) const { return pictures_.labels[static_cast<size_t>(picture)]; }
  PictureEntry entry(int64_t picture, const data::Fitting& fitting) const;
  // Options for Fitting. Images of a data set have been fitted already as far as the options go.
  const data::DataOptions& fit_options() const { return fit_; }
  // How a picture of this shape is fitted to a network.
  data::Fitting fitting(int64_t picture, const Shape& shape, const network::Spec& spec) const;

  // Before the work: refuses results that exist already (without force), then makes the folder.
  // versions: results of each picture; 0: one, under the name of the picture itself.
  void prepare_output(int64_t versions);
  void write_result(int64_t picture, int64_t version, const image::Picture& image,
                    const std::map<std::string, std::string>& text) const;
  // cells: of figure_cell(), row by row.
  void write_figure(std::span<const image::Image> cells, int64_t columns,
                    const std::map<std::string, std::string>& text) const;
  void write_report(const nlohmann::json& report) const;  // COMMAND.json; throws when pictures were left out

 private:
  void leave_out_unusable(const network::Spec& spec);
  fs::path result(int64_t picture, int64_t version) const;

  std::string command_;
  const PictureOptions& options_;
  int64_t versions_ = 0;
  bool made_folder_ = false;
  data::Pictures pictures_;
  std::vector<std::string> left_out_;  // what is wrong with those
  std::optional<Error> unfit_;         // the first of them that the network does not take
  data::DataOptions fit_;
};

// One image for figure.png; a large one is shrunk.
image::Image figure_cell(ConstTensorView one);
image::Image figure_cell(const image::Picture& one);

// The engine of a job, made for the size of the pictures at hand and kept while the size stays.
class PictureEngine {
 public:
  PictureEngine(const ModelUse& use, const network::Model& model) : use_(use), model_(model) {}
  engine::EnergyModel& at(const Shape& image, int64_t largest_batch);
  void on_tile(engine::OnTile told) { on_tile_ = std::move(told); }

 private:
  const ModelUse& use_;
  const network::Model& model_;
  engine::OnTile on_tile_;
  std::unique_ptr<engine::EnergyModel> engine_;
};

// How many results there are, how many at a time, and the shape of each; those of one batch have one shape.
struct BatchPlan {
  int64_t total = 0, batch = 1;
  std::function<Shape(int64_t)> shape;
  std::function<bool(int64_t)> alone{};  // results that are worked on one at a time; nothing: none
};

struct Batch {
  int64_t first = 0, count = 0;
};
std::vector<Batch> batches_of(const BatchPlan& plan);

// Calls work(first, count, observer) for batches of 0 .. total-1; a sampler that runs in it reports to the
// observer. It returns false when it was stopped. A stop ends it all with an error that says how far it came;
// what is finished stays. part: what the reports count.
void in_batches(const std::string& label, const BatchPlan& plan, const std::string& unit,
                const std::atomic<bool>& stop,
                const std::function<bool(int64_t, int64_t, const sample::Observer&)>& work,
                const std::string& part = "step");

// The same by several processes, a batch for each at a time: work() returns what it has found, as bytes, and
// rank 0 is given it by take(first, count, bytes), in order.
void in_shared_batches(distributed::Communicator& world, const std::string& label, const BatchPlan& plan,
                       const std::string& unit, const std::atomic<bool>& stop,
                       const std::function<std::string(int64_t, int64_t, const sample::Observer&)>& work,
                       const std::function<void(int64_t, int64_t, const std::string&)>& take,
                       const std::string& part = "step");

}  // namespace mdsm::app

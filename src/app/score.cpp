#include "app/score.h"

#include <algorithm>
#include <iostream>

#include "app/output.h"
#include "core/error.h"
#include "core/json.h"
#include "core/progress.h"
#include "data/fitting.h"
#include "data/pictures.h"
#include "report/heat_map.h"

namespace mdsm::app {
namespace {

using nlohmann::json;

// Pictures that are scored together.
class Batch : public data::Dataset {
 public:
  explicit Batch(const Shape& shape) : shape_(shape.with_n(1)) {}
  void add(std::vector<float> image) { images_.push_back(std::move(image)); }
  int64_t size() const override { return static_cast<int64_t>(images_.size()); }
  Shape image_shape() const override { return shape_; }
  void read(int64_t index, std::span<float> out) const override {
    std::ranges::copy(images_[static_cast<size_t>(index)], out.begin());
  }
  std::string description() const override { return "pictures"; }

 private:
  Shape shape_;
  std::vector<std::vector<float>> images_;
};

// "-" stands for the lines of standard input.
std::vector<std::string> with_list(const std::vector<std::string>& images) {
  std::vector<std::string> out;
  for (const std::string& one : images) {
    if (one != "-") {
      out.push_back(one);
      continue;
    }
    for (std::string line; std::getline(std::cin, line);)
      if (!line.empty()) out.push_back(line);
  }
  return out;
}

struct Stored {
  eval::Detector detector;
  std::string model, hash;
  data::DataOptions fitting;
};

Stored load(const std::string& path) {
  eval::LoadedDetector loaded = eval::load_detector(path);
  const auto damaged = [&](const std::string& what) {
    fail("fit it again with mdsm score --fit", "{}: damaged: {}", path, what);
  };
  const JsonObject more = JsonObject::parse(loaded.more, damaged), steps = more.object("fitting");
  Stored stored{
      std::move(loaded.detector), more.get<std::string>("model"), more.get<std::string>("model-hash"), {}};
  stored.fitting.crop = steps.get<int64_t>("crop");
  stored.fitting.resize = steps.get<int64_t>("resize");
  stored.fitting.pad = steps.get<int64_t>("pad");
  stored.fitting.colour = from_name<data::Colour>(steps.get<std::string>("colour"), path);
  return stored;
}

ModelUse named(ModelUse use, const std::string& model) {
  use.model = model;
  return use;
}

class Scoring {
 public:
  Scoring(const ScoreOptions& options, const std::function<void(const ScoredImage&)>& told);
  ScoreResult run();

 private:
  void open_pictures();
  fs::path heatmap_of(size_t picture) const;
  void score_batch(size_t first, size_t count);
  void draw(size_t picture, const data::Fitting& fitting, const image::Picture& given,
            std::span<const float> heat);

  const ScoreOptions& options_;
  const std::function<void(const ScoredImage&)>& told_;
  Stored stored_;
  ModelUse use_;
  network::Model model_;
  data::DataOptions fitting_;
  data::Pictures pictures_;
  std::unique_ptr<engine::EnergyModel> engine_;
  ScoreResult result_;
};

Scoring::Scoring(const ScoreOptions& options, const std::function<void(const ScoredImage&)>& told)
    : options_(options),
      told_(told),
      stored_(load(options.detector)),
      use_(options.use.model.empty() ? named(options.use, stored_.model) : options.use),
      model_(use_.load()),
      fitting_(stored_.fitting) {
  result_.parameters = model_parameters(use_.model, model_);
  if (result_.parameters["model-hash"] != stored_.hash)
    fail("use the model it was fitted with, or fit it again",
         "{}: fitted with other weights than those of {}", options.detector, use_.model);
  result_.parameters["detector"] = options.detector;
  result_.rate = stored_.detector.state().rate;
  result_.threshold = stored_.detector.threshold();
  open_pictures();
}

void Scoring::open_pictures() {
  const std::vector<std::string> images = with_list(options_.images);
  if (images.empty() == options_.data.source.empty())
    fail_usage("give image files or folders, - for a list on standard input, or a data set with --data",
               "mdsm score: {} given", images.empty() ? "no pictures" : "both pictures and --data");
  if (!images.empty()) {
    pictures_ = data::list_pictures(images, options_.data.limit);
    return;
  }
  data::DataOptions data = options_.data;
  data.crop = fitting_.crop, data.resize = fitting_.resize, data.pad = fitting_.pad,
  data.colour = fitting_.colour;
  pictures_ = data::pictures_of(open_images(model_, data), data);
  fitting_ = {};  // has been done
}

fs::path Scoring::heatmap_of(size_t picture) const {
  return (fs::path(options_.heatmap) / pictures_.names[picture]) += ".png";
}

void Scoring::draw(size_t picture, const data::Fitting& fitting, const image::Picture& given,
                   std::span<const float> heat) {
  const auto& scale = stored_.detector.state().heat;
  const fs::path path = heatmap_of(picture);
  make_folder(path.parent_path());
  image::write_png(path, report::heat_map(given, fitting.placed(heat), scale[0], scale[1]),
                   picture_text(result_.parameters));
  result_.images[picture].heatmap = path.string();
}

void Scoring::score_batch(size_t first, size_t count) {
  const Shape shape = stored_.detector.state().image;
  Batch batch(shape);
  std::vector<size_t> numbers;
  std::vector<data::Fitting> fittings;
  std::vector<image::Picture> given;  // for the pictures of heat alone
  for (size_t i = first; i < first + count; ++i) {
    ScoredImage& one = result_.images.emplace_back();
    one.image = pictures_.labels[i];
    image::Picture picture;
    try {
      picture = pictures_.read(i);
    } catch (const Error& error) {
      one.problem = error.message();
      continue;
    }
    const data::Fitting& fitting = fittings.emplace_back(picture.shape, shape, fitting_, one.image);
    batch.add(fitting.fit(picture));
    numbers.push_back(i);
    if (!options_.heatmap.empty()) given.push_back(std::move(picture));
  }
  if (batch.size() == 0) return;
  const eval::Detector::OnHeat on_heat = [&](int64_t i, std::span<const float> heat) {
    const auto k = static_cast<size_t>(i);
    draw(numbers[k], fittings[k], given[k], heat);
  };
  const auto scores = stored_.detector.score(*engine_, batch, {},
                                             options_.heatmap.empty() ? eval::Detector::OnHeat() : on_heat);
  for (size_t k = 0; k < scores.size(); ++k) result_.images[numbers[k]].found = scores[k];
}

ScoreResult Scoring::run() {
  if (!options_.heatmap.empty()) {
    data::check_different(pictures_);
    for (size_t i = 0; i < pictures_.size(); ++i) check_output(heatmap_of(i), options_.force);
  }
  const Shape shape = stored_.detector.state().image;
  const auto batch = static_cast<size_t>(batch_of(shape, use_.batch));
  engine_ = use_.make(model_, static_cast<int64_t>(batch), shape);
  Progress progress("scoring", static_cast<int64_t>(pictures_.size()), "images");
  for (size_t first = 0; first < pictures_.size(); first += batch) {
    const size_t count = std::min(batch, pictures_.size() - first);
    score_batch(first, count);
    progress.update(static_cast<int64_t>(first + count));
    for (size_t i = first; told_ && i < first + count; ++i) told_(result_.images[i]);
  }
  return std::move(result_);
}

}  // namespace

ScoreResult run_score(const ScoreOptions& options, const std::function<void(const ScoredImage&)>& told) {
  return Scoring(options, told).run();
}

}  // namespace mdsm::app

// Features from a TorchScript file through the LibTorch module. Images go in as the field's programs give
// them: RGB bytes, grey repeated, resized by the network itself unless the caller asks otherwise.
#include <algorithm>

#include "core/error.h"
#include "engine/registry/torch_loader.h"
#include "eval/features.h"
#include "image/image.h"

namespace mdsm::eval {
namespace {

class ScriptFeatures : public FeatureNetwork {
 public:
  ScriptFeatures(const fs::path& path, const ScriptOptions& options) : path_(path), options_(options) {
    std::error_code error;
    if (!fs::is_regular_file(path, error))
      fail("check the path", "{}: {}", path.string(),
           fs::exists(path, error) ? "not a plain file" : "no such file");
    script_ = engine::load_torch_script(path.string(), options.device);
  }

  FeatureSet extract(const data::Dataset& data, const Done& done) override {
    const Shape one = data.image_shape();
    if (one.c != 1 && one.c != 3)
      fail("use --colour grey or --colour rgb", "images of {} channels for {}", one.c, path_.string());
    FeatureSet set;
    Tensor image(one);
    for (int64_t first = 0; first < data.size(); first += options_.batch) {
      const int64_t n = std::min(options_.batch, data.size() - first);
      std::vector<uint8_t> pixels;
      Shape shape{n, 3, 0, 0};
      for (int64_t i = 0; i < n; ++i) {
        data.read(first + i, image.values());
        append(image, pixels, shape);
      }
      add(script_->run(pixels, shape), n, set);
      if (done) done(first + n);
    }
    return set;
  }

  FeatureDescription description() const override {
    const std::string resize =
        fmt::format("{0}x{0} before the network, antialiased bilinear", options_.resize);
    return {.kind = FeatureKind::torchscript,
            .file = path_.filename().string(),
            .dimensions = dimensions_,
            .values = "RGB, 8 bits a channel; grey repeated",
            .resize = options_.resize > 0 ? resize : "left to the network",
            .more = {{"convention", script_->convention()}, {"device", options_.device}}};
  }

  int64_t group() const override { return options_.batch; }

 private:
  void append(const Tensor& image, std::vector<uint8_t>& pixels, Shape& shape) const {
    image::Image bytes = image::to_rgb(image::to_image(image));
    if (options_.resize > 0) bytes = image::resize(bytes, options_.resize, options_.resize);
    shape.h = bytes.height;
    shape.w = bytes.width;
    const int64_t plane = bytes.height * bytes.width;
    const size_t at = pixels.size();
    pixels.resize(at + static_cast<size_t>(3 * plane));
    for (int64_t p = 0; p < plane; ++p)
      for (int64_t c = 0; c < 3; ++c)
        pixels[at + static_cast<size_t>(c * plane + p)] = bytes.pixels[static_cast<size_t>(p * 3 + c)];
  }

  void add(const engine::TorchScript::Output& out, int64_t n, FeatureSet& set) {
    if (set.n > 0 && (out.dimensions != set.dimensions || out.classes != set.classes))
      fail("check the file", "{}: {} features for one batch, {} for the next", path_.string(), set.dimensions,
           out.dimensions);
    set.n += n;
    set.dimensions = dimensions_ = out.dimensions;
    set.classes = out.classes;
    set.features.insert(set.features.end(), out.features.begin(), out.features.end());
    set.probabilities.insert(set.probabilities.end(), out.probabilities.begin(), out.probabilities.end());
  }

  fs::path path_;
  ScriptOptions options_;
  std::unique_ptr<engine::TorchScript> script_;
  int64_t dimensions_ = 0;
};

}  // namespace

std::unique_ptr<FeatureNetwork> script_features(const fs::path& torch_script, const ScriptOptions& options) {
  return std::make_unique<ScriptFeatures>(torch_script, options);
}

}  // namespace mdsm::eval

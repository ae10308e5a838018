// A trained model: its energy and gradient, new images, denoised and completed ones.
//
//   mdsm::Model model("fashion-mnist");
//   mdsm::Samples samples = model.sample(mdsm::seed_range(0, 16));
//   mdsm::write_png("first.png", samples.images.view().images(0, 1));
//
// Images are N,C,H,W float32 in [0,1]; what a Model returns is clamped to that. Every function throws Error.
#pragma once

#include <mdsm/energy_model.h>
#include <mdsm/error.h>
#include <mdsm/progress.h>
#include <mdsm/settings.h>
#include <mdsm/tensor.h>
#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace mdsm {

struct ModelOptions {
  std::string engine = "native";  // or torch, check
  std::string device = "cpu";     // of torch: cuda, cuda:1
  int64_t batch = 64;             // images computed at a time; makes no difference to the result
  int64_t tile = 0;  // unet: side of the tiles that larger images are computed in; 0 = from the memory
  std::string precision = "float32";  // or bfloat16; torch on CUDA: or tf32
};

struct DrawOptions {
  Settings settings;    // "sampler" and its options; the model's own defaults for the rest
  OnProgress progress;  // may be empty
};

struct Samples {
  Tensor images;                     // (N,C,H,W)
  std::vector<float> energy;         // (N) before the last jump
  std::vector<int64_t> evaluations;  // (N) of the gradient
};

struct Denoised {
  Tensor images;              // (N,C,H,W)
  std::vector<float> noise;   // (N) standard deviation of the noise that the model saw
  std::vector<float> energy;  // (N) of the images given
};

class Model final : public EnergyModel {
 public:
  // A model that comes with mdsm ("fashion-mnist"), a model file, or a run folder.
  explicit Model(const std::string& name, const ModelOptions& options = {});
  ~Model() override;

  // Whether images may have any height and width (networks of --net unet): energies, denoise() and inpaint()
  // then take them as they are, large ones in tiles. Other models take images of image_shape() alone.
  bool any_size() const;
  // Such models: the image_shape() from now on, of the images that sample() draws.
  void set_size(int64_t height, int64_t width);

  bool has_energy() const override;

  // One image for each seed. A seed always gives the same image, whatever else is drawn with it.
  Samples sample(std::span<const uint64_t> seeds, const DrawOptions& options = {});
  // Removes noise of any strength; nobody tells the model how much there is. progress: of images.
  Denoised denoise(ConstTensorView images, const OnProgress& progress = {});
  // Fills in missing pixels, image i with seed i. known: 1 known, 0 missing, H*W values for all images or
  // N*H*W; missing pixels are never read, known ones come back as they were. Samplers: fast, annealed.
  Samples inpaint(ConstTensorView images, std::span<const uint8_t> known, std::span<const uint64_t> seeds,
                  const DrawOptions& options = {});

  // A picture (1,C,H,W) in the model's colours; resized or padded for a model of one size as commands do it,
  // as it is for one of any_size().
  Tensor fit(ConstTensorView picture) const;
  // What the model file says: network, training, defaults for sampling; JSON text.
  std::string info() const;

 private:
  struct Parts;
  explicit Model(std::unique_ptr<Parts> parts);
  bool takes(const Shape& image) const override;
  void energy_impl(ConstTensorView x, std::span<float> energy) override;
  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override;

  std::unique_ptr<Parts> parts_;
};

// Names of the models that come with mdsm.
std::vector<std::string> model_names();
// first, first + 1, ...: `count` seeds.
std::vector<uint64_t> seed_range(uint64_t first, int64_t count);

// The same for an energy of one's own: any EnergyModel, a formula or a sum of models. Nothing is clamped.
// batch: images at a time.
Samples draw_samples(EnergyModel& energy, std::span<const uint64_t> seeds, const DrawOptions& options = {},
                     int64_t batch = 64);

// PNG, JPEG, TIFF and WebP in, (1,C,H,W); PNG out, of one image with 1 or 3 channels.
Tensor read_picture(const std::string& path);
void write_png(const std::string& path, ConstTensorView image);

}  // namespace mdsm

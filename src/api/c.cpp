// The C functions: every one a call of the C++ interface behind a wall that no exception passes.
#include <mdsm/c.h>
#include <mdsm/mdsm.h>

#include <algorithm>
#include <cstring>
#include <exception>
#include <new>

#include "api/settings.h"
#include "core/error.h"

struct mdsm_model {
  mdsm::Model model;
};

namespace mdsm {
namespace {

thread_local std::string last_error;

mdsm_status failed(mdsm_status status, const char* text) noexcept {
  try {
    last_error = text;
  } catch (...) {  // no memory for the text; an older one would mislead
    last_error.clear();
  }
  return status;
}

template <class Body>
mdsm_status guarded(const Body& body) noexcept {
  try {
    body();
    return MDSM_OK;
  } catch (const Cancelled& error) {
    return failed(MDSM_CANCELLED, error.what());
  } catch (const Error& error) {
    return failed(error.kind() == ErrorKind::usage ? MDSM_USAGE : MDSM_FAILURE, error.what());
  } catch (const std::bad_alloc&) {
    return failed(MDSM_FAILURE, "out of memory");
  } catch (const std::exception& error) {
    return failed(MDSM_FAILURE, error.what());
  } catch (...) {
    return failed(MDSM_FAILURE, "an exception of unknown type");
  }
}

template <class T>
T* needed(T* pointer, const char* what) {
  if (!pointer) fail_usage("give it", "{} is NULL", what);
  return pointer;
}

Settings settings_of(mdsm_settings list) {
  Settings settings;
  for (; list && *list; ++list) {
    const std::string text = *list;
    const size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      fail_usage("write it as name=value", "setting '{}' has no value", text);
    settings.emplace_back(text.substr(0, equals), text.substr(equals + 1));
  }
  return settings;
}

ModelOptions model_options(mdsm_settings list) {
  ModelOptions options;
  OptionSet set("mdsm_model_load", "");
  set.add("engine", options.engine, "").choices({"native", "torch", "check"});
  set.add("device", options.device, "");
  set.add("batch", options.batch, "").range(1, 1e6);
  set.add("tile", options.tile, "").range(0, 65536);
  set.add("precision", options.precision, "").choices({"float32", "bfloat16", "tf32"});
  api::apply(set, settings_of(list));
  return options;
}

OnProgress told(mdsm_progress progress, void* user) {
  if (!progress) return {};
  return [=](const ProgressReport& report) { return progress(user, report.done, report.total) == 0; };
}

Shape shape_of(const mdsm_shape& shape, int64_t n) {
  constexpr int64_t kMost = 1 << 20;  // of anything, so that products stay in range
  if (std::min({n, shape.channels, shape.height, shape.width}) < 1 ||
      std::max({shape.channels, shape.height, shape.width}) > kMost)
    fail_usage("use 1 or more of each", "{} images of {}x{}x{}", n, shape.channels, shape.height,
               shape.width);
  return {n, shape.channels, shape.height, shape.width};
}

// The images that a call is given or fills.
Shape images_of(const mdsm_model* model, int64_t n) {
  if (n < 1) fail_usage("give at least one", "{} images", n);
  return needed(model, "model")->model.images(n);
}

std::span<const uint64_t> seeds_of(const uint64_t* seeds, int64_t n) {
  if (n < 1) fail_usage("give at least one", "{} seeds", n);
  return {needed(seeds, "seeds"), static_cast<size_t>(n)};
}

class CallerImages : public Dataset {
 public:
  explicit CallerImages(const mdsm_dataset& images) : images_(images), shape_(shape_of(images.shape, 1)) {
    needed(images.read, "read");
    if (images.size < 1) fail_usage("give at least one image", "a data set of {} images", images.size);
  }
  int64_t size() const override { return images_.size; }
  Shape image_shape() const override { return shape_; }
  void read(int64_t index, std::span<float> out) const override {
    if (const int code = images_.read(images_.user, index, out.data()); code != 0)
      fail("see what its read function ran into", "image {} could not be read (code {})", index, code);
  }
  std::string description() const override {
    return fmt::format("{} images of {} of the calling program", size(), shape_.text());
  }

 private:
  mdsm_dataset images_;
  Shape shape_;
};

}  // namespace
}  // namespace mdsm

using namespace mdsm;

const char* mdsm_error(void) { return last_error.c_str(); }
const char* mdsm_version(void) { return MDSM_VERSION; }
void mdsm_set_threads(int threads) { set_thread_count(std::max(0, threads)); }

mdsm_status mdsm_model_load(const char* name, mdsm_settings settings, mdsm_model** model) {
  return guarded([&] {
    *needed(model, "model") = nullptr;
    *model = new mdsm_model{Model(needed(name, "name"), model_options(settings))};
  });
}

void mdsm_model_free(mdsm_model* model) { delete model; }

mdsm_shape mdsm_model_shape(const mdsm_model* model) {
  if (!model) return {0, 0, 0};
  const Shape& shape = model->model.image_shape();
  return {shape.c, shape.h, shape.w};
}

mdsm_status mdsm_model_set_size(mdsm_model* model, int64_t height, int64_t width) {
  return guarded([&] { needed(model, "model")->model.set_size(height, width); });
}

double mdsm_model_sigma0(const mdsm_model* model) { return model ? model->model.sigma0() : 0; }

mdsm_status mdsm_energy(mdsm_model* model, const float* images, int64_t n, float* energy, float* gradient) {
  return guarded([&] {
    const ConstTensorView x{needed(images, "images"), images_of(model, n)};
    std::vector<float> unwanted;
    if (!energy) energy = (unwanted.resize(static_cast<size_t>(n)), unwanted.data());
    const std::span<float> energies(energy, static_cast<size_t>(n));
    if (gradient)
      model->model.energy_and_gradient(x, energies, {gradient, x.shape});
    else
      model->model.energy(x, energies);
  });
}

mdsm_status mdsm_sample(mdsm_model* model, const uint64_t* seeds, int64_t n, mdsm_settings settings,
                        mdsm_progress progress, void* user, float* images) {
  return guarded([&] {
    needed(images, "images");
    const Samples drawn =
        needed(model, "model")
            ->model.sample(seeds_of(seeds, n), {settings_of(settings), told(progress, user)});
    std::ranges::copy(drawn.images.values(), images);
  });
}

mdsm_status mdsm_denoise(mdsm_model* model, const float* images, int64_t n, float* out, float* noise) {
  return guarded([&] {
    needed(out, "out");
    const Denoised found =
        needed(model, "model")->model.denoise({needed(images, "images"), images_of(model, n)});
    std::ranges::copy(found.images.values(), out);
    if (noise) std::ranges::copy(found.noise, noise);
  });
}

mdsm_status mdsm_inpaint(mdsm_model* model, const float* images, const uint8_t* known, const uint64_t* seeds,
                         int64_t n, mdsm_settings settings, mdsm_progress progress, void* user, float* out) {
  return guarded([&] {
    needed(out, "out");
    const Shape shape = images_of(model, n);
    const Samples drawn =
        model->model.inpaint({needed(images, "images"), shape},
                             {needed(known, "known"), static_cast<size_t>(n * shape.h * shape.w)},
                             seeds_of(seeds, n), {settings_of(settings), told(progress, user)});
    std::ranges::copy(drawn.images.values(), out);
  });
}

mdsm_status mdsm_picture_shape(const char* path, mdsm_shape* shape) {
  return guarded([&] {
    const Shape found = read_picture(needed(path, "path")).shape();
    *needed(shape, "shape") = {found.c, found.h, found.w};
  });
}

mdsm_status mdsm_read_picture(const mdsm_model* model, const char* path, float* image) {
  return guarded([&] {
    const Tensor fitted = needed(model, "model")->model.fit(read_picture(needed(path, "path")));
    const Shape& wanted = model->model.image_shape();
    if (fitted.shape() != wanted)
      fail_usage("mdsm_picture_shape() tells it, mdsm_model_set_size() sets it",
                 "{} has {}x{} pixels, the model is set to {}x{}", path, fitted.shape().w, fitted.shape().h,
                 wanted.w, wanted.h);
    std::ranges::copy(fitted.values(), needed(image, "image"));
  });
}

mdsm_status mdsm_write_png(const char* path, const float* image, mdsm_shape shape) {
  return guarded([&] { write_png(needed(path, "path"), {needed(image, "image"), shape_of(shape, 1)}); });
}

mdsm_status mdsm_train(const mdsm_dataset* images, const char* outdir, const char* resume,
                       mdsm_settings settings, mdsm_progress progress, void* user, char* model,
                       int64_t capacity) {
  return guarded([&] {
    TrainOptions options;
    options.settings = settings_of(settings);
    if (resume)
      options.resume = resume;
    else
      options.outdir = needed(outdir, "outdir");
    options.progress = told(progress, user);
    const Trained run = train_model(CallerImages(*needed(images, "images")), options);
    if (model) {
      if (static_cast<int64_t>(run.model.size()) >= capacity)
        fail_usage("give it more", "the path {} does not fit into {} characters", run.model, capacity);
      std::memcpy(model, run.model.c_str(), run.model.size() + 1);
    }
    if (!run.finished())
      throw Cancelled(
          fmt::format("stopped after step {} of {}; all is saved in {}", run.step, run.steps, run.folder));
  });
}

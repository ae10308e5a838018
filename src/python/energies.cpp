// Energies: trained models, functions of Python, weighted sums. Each has a lock of its own, since threads of
// Python may share one and an energy is used by one thread at a time.
#include <mutex>

#include "python/arrays.h"

namespace mdsm::python {
namespace {

using Seeds = std::vector<uint64_t>;

// What Python holds. Calls of a sum lock its parts too, always from the whole to its parts.
struct Energy {
  explicit Energy(std::unique_ptr<EnergyModel> made) : model(std::move(made)) {}
  std::unique_ptr<EnergyModel> model;
  std::recursive_mutex lock;  // a sum may have one part twice

  template <class Body>
  auto alone(const Body& body) {
    return unlocked([&] {
      const std::scoped_lock locked(lock);
      return body(*model);
    });
  }
};
using Shared = std::shared_ptr<Energy>;

// f(images) -> (energies (N), gradients (N,C,H,W)).
class FunctionEnergy : public EnergyModel {
 public:
  FunctionEnergy(py::function f, const Shape& image, double sigma0)
      : EnergyModel(image, sigma0), function_(std::move(f)) {}
  ~FunctionEnergy() override {
    const py::gil_scoped_acquire locked;
    function_ = py::function();
  }

 private:
  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override {
    const py::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    Array images = array_of(x.shape);
    std::ranges::copy(x.values(), images.mutable_data());
    const auto [energies, gradient] = results(function_(images));
    if (energies.ndim() != 1 || energies.shape(0) != x.shape.n)
      throw py::value_error("an energy of Python: the energies must have shape (" +
                            std::to_string(x.shape.n) + ",)");
    if (gradient.ndim() != 4 || view_of(gradient).shape != x.shape)
      throw py::value_error("an energy of Python: the gradient must have the shape of the images, " +
                            x.shape.text());
    std::ranges::copy(std::span(energies.data(), energy.size()), energy.begin());
    std::ranges::copy(view_of(gradient).values(), grad_x.data);
  }

  using Any = py::array_t<float, py::array::c_style | py::array::forcecast>;
  static std::pair<Any, Array> results(const py::object& found) {
    if (!py::isinstance<py::tuple>(found) || py::len(found) != 2)
      throw py::type_error("an energy of Python returns two arrays: energies (N) and gradients (N,C,H,W)");
    const py::tuple both = found;
    return {both[0].cast<Any>(), Array(both[1].cast<Any>())};
  }

  py::function function_;
};

// sum of weight * energy.
class SumEnergy : public EnergyModel {
 public:
  using Part = std::pair<double, Shared>;
  explicit SumEnergy(std::vector<Part> parts)
      : EnergyModel(parts.at(0).second->model->image_shape(), parts.at(0).second->model->sigma0()),
        parts_(std::move(parts)) {}
  bool has_energy() const override {
    return std::ranges::all_of(parts_, [](const Part& part) { return part.second->model->has_energy(); });
  }

 private:
  // Parts that take any size agree with the first one's.
  bool takes(const Shape& image) const override { return image.c == image_shape().c; }
  void energy_and_gradient_impl(ConstTensorView x, std::span<float> energy, TensorView grad_x) override {
    std::ranges::fill(energy, 0.0f);
    std::ranges::fill(grad_x.values(), 0.0f);
    std::vector<float> own(energy.size());
    Tensor gradient(x.shape);
    for (const auto& [weight, part] : parts_) {
      const std::scoped_lock locked(part->lock);
      part->model->energy_and_gradient(x, own, gradient);
      const auto w = static_cast<float>(weight);
      for (size_t i = 0; i < own.size(); ++i) energy[i] += w * own[i];
      for (size_t i = 0; i < grad_x.values().size(); ++i) grad_x.data[i] += w * gradient.data()[i];
    }
  }

  std::vector<Part> parts_;
};

Model& model_of(Energy& energy) {
  if (auto* model = dynamic_cast<Model*>(energy.model.get())) return *model;
  throw py::type_error("only a trained model can do this");
}

py::tuple tuple_of(Samples drawn) {
  return py::make_tuple(array_of(std::move(drawn.images)), array_of(drawn.energy), drawn.evaluations);
}

Shared load(const std::string& name, const std::string& engine, const std::string& device, int64_t batch,
            int64_t tile, const std::string& precision) {
  return unlocked([&] {
    return std::make_shared<Energy>(
        std::make_unique<Model>(name, ModelOptions{engine, device, batch, tile, precision}));
  });
}

py::tuple energy_and_gradient(Energy& energy, const Array& images) {
  const ConstTensorView x = view_of(images);
  Array gradient = array_of(x.shape);
  const TensorView into = view_into(gradient);
  std::vector<float> energies(static_cast<size_t>(x.shape.n));
  energy.alone([&](EnergyModel& model) { model.energy_and_gradient(x, energies, into); });
  return py::make_tuple(array_of(energies), std::move(gradient));
}

py::array_t<float> energies_of(Energy& energy, const Array& images) {
  const ConstTensorView x = view_of(images);
  std::vector<float> energies(static_cast<size_t>(x.shape.n));
  energy.alone([&](EnergyModel& model) {
    model.require_energy("energy()");
    model.energy(x, energies);
  });
  return array_of(energies);
}

py::tuple draw(Energy& energy, const Seeds& seeds, const Settings& settings, const py::object& progress,
               int64_t batch) {
  const DrawOptions options{settings, told(progress)};
  return tuple_of(energy.alone([&](EnergyModel& model) {
    auto* const trained = dynamic_cast<Model*>(&model);
    return trained ? trained->sample(seeds, options) : draw_samples(model, seeds, options, batch);
  }));
}

py::tuple denoise(Energy& energy, const Array& images, const py::object& progress) {
  Model& model = model_of(energy);
  const ConstTensorView x = view_of(images);
  const OnProgress report = told(progress);
  Denoised found = energy.alone([&](EnergyModel&) { return model.denoise(x, report); });
  return py::make_tuple(array_of(std::move(found.images)), array_of(found.noise));
}

py::tuple inpaint(Energy& energy, const Array& images, const py::array_t<uint8_t, py::array::c_style>& known,
                  const Seeds& seeds, const Settings& settings, const py::object& progress) {
  Model& model = model_of(energy);
  const ConstTensorView x = view_of(images);
  const std::span<const uint8_t> mask(known.data(), static_cast<size_t>(known.size()));
  const DrawOptions options{settings, told(progress)};
  return tuple_of(energy.alone([&](EnergyModel&) { return model.inpaint(x, mask, seeds, options); }));
}

}  // namespace

void declare_energies(py::module_& module) {
  using py::arg;
  py::class_<Energy, Shared>(module, "Energy")
      .def_property_readonly("shape",
                             [](const Energy& energy) {
                               const Shape& image = energy.model->image_shape();
                               return py::make_tuple(image.c, image.h, image.w);
                             })
      .def_property_readonly("sigma0", [](const Energy& energy) { return energy.model->sigma0(); })
      .def_property_readonly("has_energy", [](const Energy& energy) { return energy.model->has_energy(); })
      .def_property_readonly("any_size", [](Energy& energy) { return model_of(energy).any_size(); })
      .def_property_readonly("info", [](Energy& energy) { return model_of(energy).info(); })
      .def("set_size",
           [](Energy& energy, int64_t height, int64_t width) { model_of(energy).set_size(height, width); })
      .def(
          "fit",
          [](Energy& energy, const Array& picture) {
            return array_of(model_of(energy).fit(view_of(picture)));
          },
          arg("picture").noconvert())
      .def("energy", energies_of, arg("images").noconvert())
      .def("energy_and_gradient", energy_and_gradient, arg("images").noconvert())
      .def("sample", draw, arg("seeds"), arg("settings"), arg("progress"), arg("batch"))
      .def("denoise", denoise, arg("images").noconvert(), arg("progress"))
      .def("inpaint", inpaint, arg("images").noconvert(), arg("known").noconvert(), arg("seeds"),
           arg("settings"), arg("progress"));
  module.def("load", load);
  module.def("function_energy", [](py::function f, int64_t c, int64_t h, int64_t w, double sigma0) {
    return std::make_shared<Energy>(
        std::make_unique<FunctionEnergy>(std::move(f), Shape{1, c, h, w}, sigma0));
  });
  module.def("sum_energy", [](std::vector<SumEnergy::Part> parts) {
    return std::make_shared<Energy>(std::make_unique<SumEnergy>(std::move(parts)));
  });
}

}  // namespace mdsm::python

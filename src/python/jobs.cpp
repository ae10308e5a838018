// Data sources, pictures, training, and every command by its arguments.
#include <pybind11/functional.h>

#include "cli/program.h"
#include "core/stop_flag.h"
#include "core/threads.h"
#include "data/data_options.h"
#include "python/arrays.h"

namespace mdsm::python {
namespace {

// Images of the caller's, which stay where they are.
class ArrayImages : public Dataset {
 public:
  explicit ArrayImages(ConstTensorView images) : images_(images) {}
  int64_t size() const override { return images_.shape.n; }
  Shape image_shape() const override { return images_.shape.with_n(1); }
  void read(int64_t index, std::span<float> out) const override {
    std::ranges::copy(images_.image(index), out.begin());
  }
  std::string description() const override {
    return std::to_string(size()) + " images of an array, " + image_shape().text();
  }

 private:
  ConstTensorView images_;
};

using Source = std::shared_ptr<const Dataset>;

Source open_source(const std::string& source, const Settings& settings, uint64_t seed) {
  return unlocked([&]() -> Source {
    data::DataOptions options;
    OptionSet set("data", "");
    data::declare_data_options(set, options);
    for (const auto& [name, value] : settings) set.set(name, value, "data()");
    options.source = source;
    options.seed = seed;
    return data::open_dataset(options);
  });
}

Array read_images(const Dataset& source, const std::vector<int64_t>& numbers) {
  for (const int64_t number : numbers)
    if (number < 0 || number >= source.size())
      throw py::index_error("image " + std::to_string(number) + " of " + std::to_string(source.size()));
  Array images = array_of(source.image_shape().with_n(static_cast<int64_t>(numbers.size())));
  const TensorView into = view_into(images);
  unlocked([&] {
    for (size_t i = 0; i < numbers.size(); ++i) source.read(numbers[i], into.image(static_cast<int64_t>(i)));
  });
  return images;
}

py::dict train_on(const Dataset& images, const Dataset* test, const Settings& settings,
                  const std::string& outdir, const std::string& name, const std::string& resume,
                  const py::object& progress) {
  TrainOptions options{settings, outdir, name, resume, test, told(progress)};
  const Trained run = unlocked([&] { return train_model(images, options); });
  return py::dict(py::arg("folder") = run.folder, py::arg("model") = run.model, py::arg("step") = run.step,
                  py::arg("steps") = run.steps);
}

// Ctrl-C ends the command as it does in the shell; then it is Python's.
std::string run_command(const std::vector<std::string>& arguments) {
  const int threads = thread_count();
  struct Restore {
    int threads;
    ~Restore() { set_thread_count(threads); }
  } const restore{threads};
  { const StopFlag none; }  // forgets an earlier signal
  const auto interrupted = [] {
    if (!StopFlag::asked()) return;
    PyErr_SetNone(PyExc_KeyboardInterrupt);
    throw py::error_already_set();
  };
  try {
    std::string text = unlocked([&] { return cli::command_json(arguments); });
    interrupted();
    return text;
  } catch (const Error&) {
    interrupted();
    throw;
  }
}

int run_program(std::vector<std::string> arguments) {
  std::vector<char*> words;
  for (std::string& word : arguments) words.push_back(word.data());
  words.push_back(nullptr);
  return unlocked([&] { return cli::program(static_cast<int>(arguments.size()), words.data()); });
}

}  // namespace

void declare_jobs(py::module_& module) {
  using py::arg;
  py::class_<Dataset, std::shared_ptr<Dataset>>(module, "Source")
      .def("__len__", &Dataset::size)
      .def_property_readonly("shape",
                             [](const Dataset& source) {
                               const Shape image = source.image_shape();
                               return py::make_tuple(image.c, image.h, image.w);
                             })
      .def_property_readonly("description", &Dataset::description)
      .def_property_readonly("class_names", &Dataset::class_names)
      .def("label", &Dataset::label)
      .def("read", read_images);
  module.def("open_source", [](const std::string& source, const Settings& settings, uint64_t seed) {
    return std::const_pointer_cast<Dataset>(open_source(source, settings, seed));
  });
  module.def("train_on_source", [](const Dataset& images, const Dataset* test, const Settings& settings,
                                   const std::string& outdir, const std::string& name,
                                   const std::string& resume, const py::object& progress) {
    return train_on(images, test, settings, outdir, name, resume, progress);
  });
  module.def(
      "train_on_array",
      [](const Array& images, const Settings& settings, const std::string& outdir, const std::string& name,
         const std::string& resume, const py::object& progress) {
        return train_on(ArrayImages(view_of(images)), nullptr, settings, outdir, name, resume, progress);
      },
      arg("images").noconvert(), arg("settings"), arg("outdir"), arg("name"), arg("resume"), arg("progress"));
  module.def("read_picture",
             [](const std::string& path) { return array_of(unlocked([&] { return read_picture(path); })); });
  module.def(
      "write_png", [](const std::string& path, const Array& image) { write_png(path, view_of(image)); },
      arg("path"), arg("image").noconvert());
  module.def("run_command", run_command);
  module.def("run_program", run_program);
}

}  // namespace mdsm::python

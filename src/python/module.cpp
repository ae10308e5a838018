// mdsm._core: the public interface and the commands as Python sees them. The package python/mdsm is what
// people use; it turns arrays of any kind into those that are taken here.
#include "core/threads.h"
#include "python/arrays.h"

namespace mdsm::python {

namespace {

// Keeps a tensor alive for the array that shows its memory.
py::capsule owner_of(Tensor tensor) {
  return {new Tensor(std::move(tensor)), [](void* held) { delete static_cast<Tensor*>(held); }};
}

std::vector<py::ssize_t> sizes(const Shape& shape) { return {shape.n, shape.c, shape.h, shape.w}; }

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const Error& error) {
    PyErr_SetString(error.kind() == ErrorKind::usage ? PyExc_ValueError : PyExc_RuntimeError, error.what());
  }
}

}  // namespace

ConstTensorView view_of(const Array& images) {
  if (images.ndim() != 4)
    throw py::value_error("images have " + std::to_string(images.ndim()) + " axes, N,C,H,W are four");
  return {images.data(), {images.shape(0), images.shape(1), images.shape(2), images.shape(3)}};
}

Array array_of(const Shape& shape) { return Array(sizes(shape)); }

TensorView view_into(Array& array) {
  const ConstTensorView view = view_of(array);
  return {array.mutable_data(), view.shape};
}

Array array_of(Tensor tensor) {
  const Shape shape = tensor.shape();
  float* const data = tensor.data();
  return Array(sizes(shape), data, owner_of(std::move(tensor)));
}

py::array_t<float> array_of(const std::vector<float>& values) {
  return py::array_t<float>(static_cast<py::ssize_t>(values.size()), values.data());
}

OnProgress told(const py::object& callback) {
  return [&callback](const ProgressReport& report) {
    const py::gil_scoped_acquire locked;
    if (PyErr_CheckSignals() != 0) throw py::error_already_set();
    if (callback.is_none()) return true;
    const py::object said = callback(report.done, report.total, report.value);
    return said.is_none() || said.cast<bool>();
  };
}

}  // namespace mdsm::python

PYBIND11_MODULE(_core, module) {
  namespace python = mdsm::python;
  pybind11::register_exception_translator(python::translate);
  module.attr("version") = MDSM_VERSION;
  module.def("model_names", mdsm::model_names);
  module.def("thread_count", mdsm::thread_count);
  module.def("set_thread_count", [](int threads) {
    if (threads < 0 || threads > 1024) throw pybind11::value_error("threads: use 0 (all) to 1024");
    mdsm::set_thread_count(threads);
  });
  python::declare_energies(module);
  python::declare_jobs(module);
}

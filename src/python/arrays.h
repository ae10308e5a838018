// NumPy arrays as images, and calls that let other threads of Python run.
#pragma once

#include <mdsm/mdsm.h>
#include <pybind11/numpy.h>
#include <pybind11/pybind11.h>
#include <pybind11/stl.h>

namespace mdsm::python {

namespace py = pybind11;

// Float32, C order, (N,C,H,W): the package turns what it is given into this. Nothing else is taken.
using Array = py::array_t<float, py::array::c_style>;

ConstTensorView view_of(const Array& images);
Array array_of(const Shape& shape);
TensorView view_into(Array& array);
Array array_of(Tensor tensor);  // of its memory
py::array_t<float> array_of(const std::vector<float>& values);

// A Python function (done, total, value) as a progress function: None and True go on, False stops. Ctrl-C
// ends the call as KeyboardInterrupt. `callback`, which may be None, must outlive it.
OnProgress told(const py::object& callback);

// Without Python's lock.
template <class Body>
auto unlocked(const Body& body) {
  const py::gil_scoped_release released;
  return body();
}

void declare_energies(py::module_& module);
void declare_jobs(py::module_& module);

}  // namespace mdsm::python

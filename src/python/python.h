// What every file of the Python module includes: pybind11, tensors as they pass between the two languages, and JSON as
// Python's own objects.
#pragma once

#include <pybind11/functional.h>
#include <pybind11/stl.h>
#include <pybind11/stl/filesystem.h>
#include <torch/csrc/utils/pybind.h>

#include <string>

#include "nascent/core/options.h"

namespace nascent::python {

namespace py = pybind11;

py::object to_python(const Json& json);
// An Error names what has no counterpart in JSON.
Json to_json(const py::handle& object);

// Sets options from keyword arguments, by their flags as on the command line (judge_data="cifar10") or by their keys
// ({"train.epochs": 3}). None leaves an option as it is.
struct ReadOptions {
  std::vector<std::string> keys{};   // that were set
  std::vector<std::string> words{};  // what would be typed for the same
};
ReadOptions read_keywords(OptionTable& table, const py::dict& keywords);

// Work that takes long: other Python threads go on meanwhile, and Ctrl-C stops it as it stops the program.
// Hidden, as what it holds is.
class [[gnu::visibility("hidden")]] LongWork {
 public:
  LongWork();
  ~LongWork();
  LongWork(const LongWork&) = delete;
  LongWork& operator=(const LongWork&) = delete;

 private:
  py::gil_scoped_release release_;
};

// The parts of the module, each in a file of its own.
void bind_spaces(py::module_& module);
void bind_networks(py::module_& module);
void bind_models(py::module_& module);
void bind_scores(py::module_& module);
void bind_tables(py::module_& module);
void bind_runs(py::module_& module);
void bind_searches(py::module_& module);

}  // namespace nascent::python

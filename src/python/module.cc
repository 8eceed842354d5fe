// The compiled half of `import nascent`; src/python/nascent/ is the half that people see.
#include "nascent/core/error.h"
#include "nascent/core/interrupt.h"
#include "nascent/core/log.h"
#include "nascent/core/version.h"
#include "nascent/nn/engine.h"
#include "nascent/nn/threads.h"
#include "nascent/python/python.h"

namespace nascent::python {
namespace {

void translate(std::exception_ptr thrown) {
  try {
    if (thrown) std::rethrow_exception(thrown);
  } catch (const Interrupted&) {
    PyErr_SetNone(PyExc_KeyboardInterrupt);
  } catch (const std::filesystem::filesystem_error& error) {
    PyErr_SetString(PyExc_OSError, error.what());
  }
}

log::Level level_named(const std::string& name) {
  if (name == "debug") return log::Level::debug;
  if (name == "info") return log::Level::info;
  if (name == "warning") return log::Level::warning;
  if (name == "error") return log::Level::error;
  fail("There is no log level '{}'; expected debug, info, warning or error.", name);
}

}  // namespace

PYBIND11_MODULE(_nascent, module) {
  py::register_exception<Error>(module, "Error");
  py::register_exception_translator(translate);
  log::set_level(log::Level::warning);

  module.attr("__version__") = version();
  module.def("describe_engine", describe_engine);
  module.def("use_threads", use_threads, py::arg("threads"));
  module.def("log_level", [](const std::string& name) { log::set_level(level_named(name)); });
  module.def("engine", [] { return std::string(engine() == Engine::fused ? "fused" : "reference"); });
  module.def("use_engine", [](const std::string& name) { use_engine(engine_named(name)); });

  bind_spaces(module);
  bind_networks(module);
  bind_models(module);
  bind_scores(module);
  bind_tables(module);
  bind_runs(module);
  bind_searches(module);
}

}  // namespace nascent::python

// Runs and their events.
#include "nascent/python/python.h"
#include "nascent/run/event_store.h"
#include "nascent/run/run_directory.h"
#include "nascent/run/run_list.h"

namespace nascent::python {
namespace {

// One flat dict per event, as a row of a table.
py::list event_rows(const RunDirectory& run, const std::string& kind) {
  py::list rows;
  for (const Event& event : EventStore(run.events_path(), EventStore::Access::read).events(kind)) {
    py::dict row;
    row["kind"] = event.kind;
    row["epoch"] = event.epoch;
    row["step"] = event.step;
    if (event.values.is_object()) {
      for (const auto& [key, value] : event.values.items()) row[py::str(key)] = to_python(value);
    }
    rows.append(row);
  }
  return rows;
}

}  // namespace

void bind_runs(py::module_& module) {
  module.def("runs", [](const std::filesystem::path& folder) {
    py::list rows;
    for (const RunSummary& run : list_runs(folder)) rows.append(to_python(run.to_json()));
    return rows;
  });
  py::class_<RunDirectory>(module, "Run")
      .def(py::init([](const std::filesystem::path& path) { return RunDirectory::view(path); }), py::arg("path"))
      .def_property_readonly("path", [](const RunDirectory& run) { return run.path().string(); })
      .def_property_readonly("state", [](const RunDirectory& run) { return status_text(run.status()); })
      .def_property_readonly("info", [](const RunDirectory& run) { return to_python(run.info()); })
      .def_property_readonly("options", [](const RunDirectory& run) { return to_python(run.options()); })
      .def_property_readonly("result", [](const RunDirectory& run) { return to_python(run.result()); })
      .def_property_readonly("genotype", &RunDirectory::genotype)
      .def_property_readonly(
          "kinds",
          [](const RunDirectory& run) { return EventStore(run.events_path(), EventStore::Access::read).kinds(); })
      .def("events", event_rows, py::arg("kind") = "")
      .def(
          "series",
          [](const RunDirectory& run, const std::string& kind, const std::string& key) {
            return EventStore(run.events_path(), EventStore::Access::read).series(kind, key);
          },
          py::arg("kind"), py::arg("key"));
}

}  // namespace nascent::python

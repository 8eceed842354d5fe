// Search spaces and genotypes.
#include "nascent/core/error.h"
#include "nascent/python/python.h"
#include "nascent/search/encoding.h"
#include "nascent/search/search.h"
#include "nascent/space/drawing.h"
#include "nascent/space/genotype.h"
#include "nascent/space/plan.h"
#include "nascent/space/space.h"

namespace nascent::python {
namespace {

Json genotype_json(const Genotype& genotype) { return Json::parse(to_text(genotype, "json")); }

std::string genotype_text(const Genotype& genotype, const std::string& form) {
  return form.empty() ? short_text(genotype) : to_text(genotype, form);
}

// Sizes of the network that a genotype makes: {"parameters": ..., "multiply_adds": ...}.
py::object sizes(const Genotype& genotype, const Space& space, const std::array<int, 3>& input, int classes,
                 const py::dict& keywords) {
  NetworkOptions options;
  OptionTable table;
  options.declare(table);
  read_keywords(table, keywords);
  const NetworkPlan plan = plan_network(space, genotype, options, {input[0], input[1], input[2]}, classes);
  return to_python({{"parameters", count_parameters(plan)}, {"multiply_adds", count_multiply_adds(plan)}});
}

py::object at_index(const Space& space, double index) {
  if (index < 0 || index >= space.count()) {
    fail("{} has architectures 0 to {:.0f}; there is no {:.0f}.", space.name(), space.count() - 1, index);
  }
  return py::cast(space.at(index));
}

Genotype decoded(const Encoding& encoding, const Choices& choices) {
  const std::vector<int>& sizes = encoding.sizes();
  if (choices.size() != sizes.size()) fail("{} choices were given; expected {}.", choices.size(), sizes.size());
  for (size_t i = 0; i < sizes.size(); ++i) {
    if (choices[i] < 0 || choices[i] >= sizes[i]) {
      fail("Choice {} is {}; expected 0 to {}.", i, choices[i], sizes[i] - 1);
    }
  }
  const auto genotype = encoding.decode(choices);
  if (!genotype) fail("These choices do not go together: the space has no such architecture.");
  return *genotype;
}

void bind_genotype(py::module_& module) {
  py::class_<Genotype>(module, "Genotype")
      .def_static("parse", parse_genotype, py::arg("text"), py::arg("form") = "", py::arg("space") = "")
      .def_static(
          "find", [](const std::string& name) { return find_genotype(name); }, py::arg("name"))
      .def_readonly("space", &Genotype::space)
      .def_property_readonly("forms", text_forms)
      .def("text", genotype_text, py::arg("form") = "")
      .def("json", [](const Genotype& genotype) { return to_python(genotype_json(genotype)); })
      .def("dot", [](const Genotype& genotype) { return to_dot(genotype); })
      .def("describe", [](const Genotype& genotype) { return describe(genotype); })
      .def("depth", [](const Genotype& genotype, const std::string& cell) { return cell_depth(genotype.cell(cell)); })
      .def("width", [](const Genotype& genotype, const std::string& cell) { return cell_width(genotype.cell(cell)); })
      .def_property_readonly("cells",
                             [](const Genotype& genotype) {
                               std::vector<std::string> types;
                               for (const CellGenotype& cell : genotype.cells) types.push_back(cell.type);
                               return types;
                             })
      .def("_sizes", sizes)
      .def("__str__", [](const Genotype& genotype) { return short_text(genotype); })
      .def("__eq__", [](const Genotype& a, const Genotype& b) { return a == b; })
      .def("__eq__", [](const Genotype&, const py::object&) { return false; })
      .def("__hash__", [](const Genotype& genotype) { return std::hash<std::string>()(to_text(genotype, "json")); })
      .def(py::pickle([](const Genotype& genotype) { return to_text(genotype, "json"); },
                      [](const std::string& text) { return parse_genotype(text, "json"); }));
}

}  // namespace

void bind_spaces(py::module_& module) {
  py::class_<Space, std::shared_ptr<Space>> bound_space(module, "Space");
  bind_genotype(module);
  module.def("genotypes", known_genotypes);
  module.def("spaces", [] { return Space::Registry::instance().names(); });
  bound_space
      .def(py::init([](const std::string& name) { return std::const_pointer_cast<Space>(find_space(name)); }),
           py::arg("name"))
      .def_property_readonly("name", &Space::name)
      .def_property_readonly("description", &Space::description)
      .def_property_readonly("operations", &Space::genotype_ops)
      .def_property_readonly("candidates", &Space::ops)
      .def_property_readonly("cells",
                             [](const Space& space) {
                               std::vector<std::string> types;
                               for (const CellChoices& cell : space.cells()) types.push_back(cell.type);
                               return types;
                             })
      .def(py::pickle([](const Space& space) { return space.name(); },
                      [](const std::string& name) { return std::const_pointer_cast<Space>(find_space(name)); }))
      .def("_count", &Space::count)
      .def("_sample",
           [](const Space& space, uint64_t seed) {
             RandomStream random(seed, "python sample");
             return space.sample(random);
           })
      .def("_mutate",
           [](const Space& space, const Genotype& genotype, uint64_t seed) {
             space.validate(genotype);
             RandomStream random(seed, "python mutation");
             return space.mutate(genotype, random);
           })
      .def("index",
           [](const Space& space, const Genotype& genotype) {
             space.validate(genotype);
             return static_cast<int64_t>(space.index_of(genotype));
           })
      .def("_at", at_index)
      .def("validate", &Space::validate, py::arg("genotype"))
      .def_property_readonly("sizes", [](const std::shared_ptr<Space>& space) { return Encoding(space).sizes(); })
      .def("decode", [](const std::shared_ptr<Space>& space,
                        const Choices& choices) { return decoded(Encoding(space), choices); })
      .def("encode", [](const std::shared_ptr<Space>& space, const Genotype& genotype) {
        return Encoding(space).encode(genotype);
      });
}

}  // namespace nascent::python

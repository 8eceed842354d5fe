// Cells, networks and supernets: LibTorch's modules, whose parameters and buffers Python's modules share.
#include <torch/csrc/autograd/python_variable.h>

#include "nascent/core/error.h"
#include "nascent/nn/cell.h"
#include "nascent/nn/initialiser.h"
#include "nascent/nn/network.h"
#include "nascent/python/python.h"
#include "nascent/search/discretisation.h"
#include "nascent/space/cell_plan.h"
#include "nascent/train/plan_json.h"

namespace nascent::python {
namespace {

using ShapeOfThree = std::array<int, 3>;

Shape shape_of(const ShapeOfThree& sizes) { return {sizes[0], sizes[1], sizes[2]}; }

NetworkOptions network_options(const py::dict& keywords) {
  NetworkOptions options;
  OptionTable table;
  options.declare(table);
  read_keywords(table, keywords);
  return options;
}

at::Tensor tensor_in(const py::handle& object) {
  if (!THPVariable_Check(object.ptr())) {
    fail(
        "The weights of a cell are {}; expected a tensor [sites, candidates], or a dict with such a tensor as \"ops\" "
        "and, as needed, \"edges\", \"active\" and \"shifts\".",
        py::repr(object).cast<std::string>());
  }
  return object.cast<at::Tensor>();
}

at::Tensor tensor_at(const py::dict& entry, const char* key) {
  return entry.contains(key) && !entry[key].is_none() ? tensor_in(entry[key]) : at::Tensor();
}

// A tensor of weights over operations, or {"ops": ..., "edges": ..., "active": ..., "shifts": ...}.
CellMixture cell_mixture(const py::handle& entry) {
  if (!py::isinstance<py::dict>(entry)) return {.ops = tensor_in(entry), .edges = {}, .active = {}};
  const auto parts = py::reinterpret_borrow<py::dict>(entry);
  if (!parts.contains("ops")) fail("The weights of a cell lack \"ops\", a tensor [sites, candidates].");
  CellMixture mixture{.ops = tensor_at(parts, "ops"), .edges = tensor_at(parts, "edges"), .active = {}};
  mixture.shifts = tensor_at(parts, "shifts");
  if (parts.contains("active")) mixture.active = parts["active"].cast<std::vector<std::vector<int>>>();
  return mixture;
}

Mixture mixture_in(const py::object& object) {
  Mixture mixture;
  if (object.is_none()) return mixture;
  for (const auto& [type, entry] : object.cast<py::dict>()) mixture[type.cast<std::string>()] = cell_mixture(entry);
  return mixture;
}

std::shared_ptr<Network> make_network(const Space& space, const Genotype* genotype, const ShapeOfThree& input,
                                      int classes, uint64_t seed, const std::string& initialiser,
                                      const py::dict& keywords) {
  const NetworkOptions options = network_options(keywords);
  if (genotype != nullptr) space.validate(*genotype);
  return std::make_shared<Network>(genotype != nullptr
                                       ? plan_network(space, *genotype, options, shape_of(input), classes)
                                       : plan_supernet(space, options, shape_of(input), classes),
                                   seed, initialiser);
}

py::tuple network_forward(Network& network, const at::Tensor& images, const py::object& weights, double drop_path,
                          uint64_t seed, int64_t step) {
  const Mixture mixture = mixture_in(weights);
  NetworkOutput output;
  {
    const py::gil_scoped_release release;
    output = network.forward(
        images,
        {.mixture = weights.is_none() ? nullptr : &mixture, .drop_path = drop_path, .seed = seed, .step = step});
  }
  return py::make_tuple(output.logits, output.auxiliary.defined() ? py::cast(output.auxiliary) : py::none());
}

CellSite cell_site(const std::vector<ShapeOfThree>& inputs, int channels, const py::dict& where) {
  CellSite site{.inputs = {}, .channels = channels};
  for (const ShapeOfThree& input : inputs) site.inputs.push_back(shape_of(input));
  site.reduction = where["reduction"].cast<bool>();
  site.affine = where["affine"].cast<bool>();
  site.pool_norm = where["pool_norm"].cast<bool>();
  site.project_always = where["project_always"].cast<bool>();
  site.partial = where["partial"].cast<int>();
  return site;
}

std::shared_ptr<Cell> make_cell(const Space& space, const Genotype* genotype, const std::string& type,
                                const std::vector<ShapeOfThree>& inputs, int channels, const py::dict& where,
                                uint64_t seed, const std::string& initialiser) {
  const CellChoices& choices = space.cell(type);
  if (static_cast<int>(inputs.size()) != choices.inputs) {
    fail("A cell of type '{}' of {} has {} inputs; the shapes of {} were given.", type, space.name(), choices.inputs,
         inputs.size());
  }
  if (genotype != nullptr) space.validate(*genotype);
  auto cell = std::make_shared<Cell>(plan_cell(space, genotype, type, cell_site(inputs, channels, where)));
  initialise(*cell, seed, initialiser);
  return cell;
}

// The engine trusts shapes; what comes from outside is checked.
void check_inputs(const Cell& cell, const std::vector<at::Tensor>& inputs) {
  const std::vector<Shape>& shapes = cell.plan().input_shapes;
  if (inputs.size() != shapes.size()) fail("The cell takes {} inputs, but was given {}.", shapes.size(), inputs.size());
  for (size_t i = 0; i < shapes.size(); ++i) {
    const Shape& shape = shapes[i];
    const auto found = inputs[i].sizes();
    const bool fits = found.size() == 4 && found[1] == shape.channels && found[2] == shape.height &&
                      found[3] == shape.width && found[0] == inputs[0].size(0);
    if (!fits) {
      fail("Input {} of the cell must be of [images, {}, {}, {}], as many images as the others; found [{}].", i,
           shape.channels, shape.height, shape.width, fmt::join(found, ", "));
    }
  }
}

at::Tensor cell_forward(const Cell& cell, const std::vector<at::Tensor>& inputs, const py::object& weights,
                        double drop_path, uint64_t seed, uint64_t step) {
  check_inputs(cell, inputs);
  if (weights.is_none() && cell.is_mixed()) {
    fail("This cell is a supernet's: its forward pass needs a mixture, the weights of its operations.");
  }
  CellMixture mixture;
  if (!weights.is_none()) {
    mixture = cell_mixture(weights);
    cell.check(mixture);
  }
  const py::gil_scoped_release release;
  std::vector<at::Tensor> laid_out;
  for (const at::Tensor& input : inputs) laid_out.push_back(input.contiguous(at::MemoryFormat::ChannelsLast));
  return cell.forward(laid_out, {.mixture = weights.is_none() ? nullptr : &mixture,
                                 .drop_path = cell.is_training() ? drop_path : 0,
                                 .seed = seed,
                                 .step = step});
}

template <class Module>
py::class_<Module, std::shared_ptr<Module>> bind_module(py::module_& module, const char* name) {
  const auto pairs = [](const torch::OrderedDict<std::string, at::Tensor>& named) {
    std::vector<std::pair<std::string, at::Tensor>> all;
    for (const auto& item : named) all.emplace_back(item.key(), item.value());
    return all;
  };
  return py::class_<Module, std::shared_ptr<Module>>(module, name)
      .def("named_parameters", [pairs](const Module& self) { return pairs(self.named_parameters()); })
      .def("named_buffers", [pairs](const Module& self) { return pairs(self.named_buffers()); })
      .def("train", [](Module& self, bool mode) { self.train(mode); });
}

}  // namespace

void bind_networks(py::module_& module) {
  bind_module<Network>(module, "Network")
      .def(py::init([](const Space& space, const Genotype* genotype, const ShapeOfThree& input, int classes,
                       uint64_t seed, const std::string& initialiser, const py::dict& keywords) {
        return make_network(space, genotype, input, classes, seed, initialiser, keywords);
      }))
      .def(py::init(
          [](const std::string& plan) { return std::make_shared<Network>(plan_from_json(Json::parse(plan)), 1); }))
      .def("plan", [](const Network& self) { return to_json(self.plan()).dump(); })
      .def("parameter_count", [](const Network& self) { return count_parameters(self.plan()); })
      .def("multiply_adds", [](const Network& self) { return count_multiply_adds(self.plan()); })
      .def("forward", network_forward);

  bind_module<Cell>(module, "Cell")
      .def(py::init([](const Space& space, const Genotype* genotype, const std::string& type,
                       const std::vector<ShapeOfThree>& inputs, int channels, const py::dict& where, uint64_t seed,
                       const std::string& initialiser) {
        return make_cell(space, genotype, type, inputs, channels, where, seed, initialiser);
      }))
      .def("is_mixed", &Cell::is_mixed)
      .def("output_shape",
           [](const Cell& self) {
             const Shape& shape = self.plan().output_shape;
             return py::make_tuple(shape.channels, shape.height, shape.width);
           })
      .def("forward", cell_forward);

  // Rows of architecture parameters over operations, and rows of edges, by type of cell.
  module.def("architecture_sizes", [](const Space& space) {
    py::dict sizes;
    for (const CellChoices& cell : space.cells()) {
      sizes[py::str(cell.type)] = py::make_tuple(Space::sites(cell), space.ops().size(), Space::edges(cell).size());
    }
    return sizes;
  });
  module.def("strongest_genotype", [](const Space& space, const py::object& probabilities, bool use_edge_weights) {
    return strongest_genotype(space, mixture_in(probabilities), use_edge_weights);
  });
}

}  // namespace nascent::python

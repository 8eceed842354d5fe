#include "nascent/space/genotype.h"

#include <algorithm>
#include <filesystem>
#include <set>

#include "nascent/core/error.h"
#include "nascent/core/files.h"
#include "nascent/core/text.h"
#include "nascent/space/genotype_form.h"
#include "nascent/space/genotype_source.h"
#include "nascent/space/operation.h"
#include "nascent/space/scanner.h"
#include "nascent/space/shipped_genotypes.h"
#include "nascent/space/space.h"

namespace nascent {

namespace {

const GenotypeForm::Registry& forms() { return GenotypeForm::Registry::instance(); }

std::string recognise(const std::string& text) {
  for (const auto& [name, entry] : forms().entries()) {
    if (entry.make()->recognises(text)) return name;
  }
  fail("This is not a genotype in any known form ({}), at {}", join(forms().names(), ", "), point_at(text, 0));
}

// "nasbench201:1234": an architecture by its place in the order of Space::enumerate.
std::optional<Genotype> find_by_index(const std::string& name) {
  const size_t colon = name.rfind(':');
  if (colon == std::string::npos || !Space::Registry::instance().contains(name.substr(0, colon))) return std::nullopt;
  const std::string index = name.substr(colon + 1);
  const bool digits =
      !index.empty() && index.size() <= 15 && index.find_first_not_of("0123456789") == std::string::npos;
  if (!digits)
    fail("'{}' does not name an architecture: expected a whole number after the colon, found '{}'.", name, index);
  return find_space(name.substr(0, colon))->at(std::stod(index));
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return path.size() < 4096 && std::filesystem::is_regular_file(path, ignored);
}

bool looks_like_text(const std::string& text) { return text.find_first_of("{|(\n") != std::string::npos; }

}  // namespace

const CellGenotype& Genotype::cell(const std::string& type) const {
  std::vector<std::string> types;
  for (const CellGenotype& cell : cells) {
    if (cell.type == type) return cell;
    types.push_back("'" + cell.type + "'");
  }
  fail("The genotype has no cell of type '{}'; it has: {}.", type, types.empty() ? "none" : join(types, ", "));
}

std::string unknown_operation(const std::string& op) {
  const auto& registry = Operation::Registry::instance();
  if (registry.contains(op)) return "";
  return fmt::format("'{}' is not a known operation.{} Known: {}", op, suggestion(op, registry.names()),
                     join(registry.names(), ", "));
}

std::string to_text(const Genotype& genotype, const std::string& form) {
  const auto writer = forms().make(form);
  const std::string obstacle = writer->obstacle(genotype);
  if (!obstacle.empty()) {
    fail("The form '{}' cannot express this genotype: {}. It can be written as {}.", form, obstacle,
         join(text_forms(genotype), ", "));
  }
  return writer->write(genotype);
}

Genotype parse_genotype(const std::string& text, const std::string& form, const std::string& space) {
  return forms().make(form.empty() ? recognise(text) : form)->read(text, space);
}

std::vector<std::string> text_forms(const Genotype& genotype) {
  std::vector<std::string> names = {"json"};
  for (const auto& [name, entry] : forms().entries()) {
    if (name != "json" && entry.make()->obstacle(genotype).empty()) names.push_back(name);
  }
  return names;
}

Genotype find_genotype(const std::string& name_text_or_path, const std::string& space) {
  std::string name(trim(name_text_or_path));
  if (is_file(name + "/genotype.json")) name += "/genotype.json";  // a run's folder
  if (const auto shipped = shipped_genotype(name)) return *shipped;
  if (auto indexed = find_by_index(name)) return *std::move(indexed);
  if (is_file(name)) {
    try {
      return parse_genotype(read_file(name), "", space);
    } catch (const Error& error) {
      fail("{}: {}", name, error.what());
    }
  }
  for (const auto& [kind, source] : GenotypeSource::Registry::instance().entries()) {
    if (auto found = source.make(name)) return *std::move(found);
  }
  if (looks_like_text(name)) return parse_genotype(name_text_or_path, "", space);
  if (name.starts_with("#")) {
    fail("'{0}' is a number of which benchmark? Name its table before it, as in nb201.table{0}.", name);
  }
  fail("There is no genotype '{}', nor a file of that name.{} Known: {}.", name, suggestion(name, known_genotypes()),
       join(known_genotypes(), ", "));
}

int cell_depth(const CellGenotype& cell) {
  // Edges on the longest path to each state; -1: no path from an input.
  std::vector<int> depth(cell.inputs, 0);
  for (const GenotypeNode& node : cell.nodes) {
    int deepest = -1;
    for (const GenotypeEdge& edge : node.edges) {
      if (edge.op != "none" && depth.at(edge.from) >= 0) deepest = std::max(deepest, depth[edge.from] + 1);
    }
    depth.push_back(deepest);
  }
  int deepest = -1;
  for (int state : cell.output) deepest = std::max(deepest, depth.at(state));
  return deepest + 1;
}

namespace {

// Which states have a path to the cell's output, by edges that are not `none`.
std::vector<bool> lead_to_output(const CellGenotype& cell) {
  std::vector<bool> leads(cell.inputs + cell.nodes.size(), false);
  for (const int state : cell.output) leads.at(state) = true;
  for (size_t n = cell.nodes.size(); n-- > 0;) {
    if (!leads[cell.inputs + n]) continue;
    for (const GenotypeEdge& edge : cell.nodes[n].edges) {
      if (edge.op != "none") leads.at(edge.from) = true;
    }
  }
  return leads;
}

// Which states have a path from an input; what none leads to is zero.
std::vector<bool> reached_by_input(const CellGenotype& cell) {
  std::vector<bool> reached(cell.inputs, true);
  for (const GenotypeNode& node : cell.nodes) {
    reached.push_back(std::any_of(node.edges.begin(), node.edges.end(), [&](const GenotypeEdge& edge) {
      return edge.op != "none" && reached.at(edge.from);
    }));
  }
  return reached;
}

}  // namespace

double cell_width(const CellGenotype& cell) {
  const std::vector<bool> leads = lead_to_output(cell), reached = reached_by_input(cell);
  double width = 0;
  for (size_t n = 0; n < cell.nodes.size(); ++n) {
    if (!leads[cell.inputs + n]) continue;
    int edges = 0, from_inputs = 0;
    for (const GenotypeEdge& edge : cell.nodes[n].edges) {
      if (edge.op == "none" || !reached[edge.from]) continue;
      ++edges;
      if (edge.from < cell.inputs) ++from_inputs;
    }
    if (edges > 0) width += static_cast<double>(from_inputs) / edges;
  }
  return width;
}

}  // namespace nascent

#include "nascent/space/space.h"

#include <algorithm>

#include "nascent/core/error.h"
#include "nascent/space/space_toml.h"

namespace nascent {

std::string Space::type_at(int, int, bool reduction) const {
  const auto is_reduce = [](const CellChoices& cell) { return cell.type == "reduce"; };
  if (reduction && std::any_of(cells_.begin(), cells_.end(), is_reduce)) return "reduce";
  const auto ordinary = std::find_if_not(cells_.begin(), cells_.end(), is_reduce);
  return ordinary != cells_.end() ? ordinary->type : cells_.at(0).type;
}

const CellChoices& Space::cell(const std::string& type) const {
  std::vector<std::string> types;
  for (const CellChoices& cell : cells_) {
    if (cell.type == type) return cell;
    types.push_back(cell.type);
  }
  fail("The space '{}' has no cell of type '{}'; it has: {}.", name_, type, join(types, ", "));
}

std::vector<CandidateEdge> Space::edges(const CellChoices& cell) {
  std::vector<CandidateEdge> all;
  int state = cell.inputs;
  for (const NodeChoices& node : cell.nodes) {
    for (int from : node.inputs) all.push_back({from, state});
    ++state;
  }
  if (cell.output_keep > 0) {
    for (int from : cell.output) all.push_back({from, -1});
  }
  return all;
}

int Space::sites(const CellChoices& cell) {
  if (cell.ops_on_nodes) return static_cast<int>(cell.nodes.size());
  int sum = 0;
  for (const NodeChoices& node : cell.nodes) sum += static_cast<int>(node.inputs.size());
  return sum;
}

std::shared_ptr<const Space> find_space(const std::string& name_or_path) {
  if (name_or_path.ends_with(".toml")) return read_space_toml_file(name_or_path);
  return Space::Registry::instance().make(name_or_path);
}

}  // namespace nascent

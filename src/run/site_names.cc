#include "nascent/run/site_names.h"

#include <fmt/format.h>

#include "nascent/core/error.h"
#include "nascent/space/space.h"

namespace nascent {
namespace {

std::vector<std::string> names_of(const CellChoices& cell) {
  std::vector<std::string> names;
  if (cell.ops_on_nodes) {
    for (size_t node = 0; node < cell.nodes.size(); ++node) names.push_back(fmt::format("node {}", node + 1));
    return names;
  }
  for (const auto& edge : Space::edges(cell)) {
    if (edge.to >= 0) names.push_back(fmt::format("{}→{}", edge.from, edge.to));
  }
  return names;
}

}  // namespace

std::vector<std::string> site_names(const std::string& space, const std::string& cell_type) {
  if (space.empty()) return {};
  try {
    const auto found = find_space(space);
    for (const auto& cell : found->cells()) {
      if (cell.type == cell_type) return names_of(cell);
    }
  } catch (const Error&) {  // a space of the user's own, gone since
  }
  return {};
}

std::vector<std::string> site_names(const std::string& space, const std::string& cell_type, size_t count) {
  std::vector<std::string> names = site_names(space, cell_type);
  if (names.size() == count) return names;
  names.clear();
  for (size_t i = 0; i < count; ++i) names.push_back(std::to_string(i + 1));
  return names;
}

}  // namespace nascent

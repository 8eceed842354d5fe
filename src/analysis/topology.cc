#include "nascent/analysis/topology.h"

#include <algorithm>
#include <cmath>

#include "nascent/core/error.h"
#include "nascent/space/cell_space.h"

namespace nascent {
namespace {

constexpr double kMostWirings = 2e6;  // a second's work

// One way to fill a node: its sources, and how often that counts.
struct Filling {
  std::vector<int> from;
  double count = 1;
};

// Ordered draws that give the same set: all orders where an input may come twice, one where inputs differ.
double orders(const std::vector<int>& chosen) {
  double ways = std::tgamma(static_cast<double>(chosen.size()) + 1);
  for (size_t i = 0, run = 1; i + 1 < chosen.size(); ++i) {
    run = chosen[i] == chosen[i + 1] ? run + 1 : 1;
    ways /= static_cast<double>(run);
  }
  return std::round(ways);
}

void choose(const NodeChoices& node, const WiringRules& rules, size_t first, std::vector<int>& chosen,
            std::vector<Filling>& all) {
  if (static_cast<int>(chosen.size()) == node.keep) {
    all.push_back({chosen, rules.repeat ? orders(chosen) : 1});
    return;
  }
  for (size_t i = first; i < node.inputs.size(); ++i) {
    chosen.push_back(node.inputs[i]);
    choose(node, rules, rules.repeat ? i : i + 1, chosen, all);
    chosen.pop_back();
  }
}

// With `none` each edge may be missing: one way, against one for each operation.
std::vector<Filling> with_missing_edges(const std::vector<Filling>& full, int operations) {
  std::vector<Filling> all;
  for (const Filling& filling : full) {
    for (size_t missing = 0; missing < size_t{1} << filling.from.size(); ++missing) {
      Filling part{{}, filling.count};
      for (size_t e = 0; e < filling.from.size(); ++e) {
        if (missing >> e & 1) continue;
        part.from.push_back(filling.from[e]);
        part.count *= operations;
      }
      all.push_back(std::move(part));
    }
  }
  return all;
}

std::vector<Filling> fillings(const NodeChoices& node, const WiringRules& rules) {
  std::vector<Filling> all;
  std::vector<int> chosen;
  choose(node, rules, 0, chosen, all);
  return rules.none ? with_missing_edges(all, rules.operations) : all;
}

// Every way to pick the output; one where it is given.
std::vector<std::vector<int>> outputs(const CellChoices& cell) {
  if (cell.output_keep == 0) return {cell.output};
  std::vector<std::vector<int>> all;
  const int candidates = static_cast<int>(cell.output.size());
  const auto count = static_cast<int64_t>(binomial(candidates, cell.output_keep));
  for (int64_t rank = 0; rank < count; ++rank) {
    std::vector<int>& output = all.emplace_back();
    for (int i : unrank_choice(candidates, cell.output_keep, rank)) output.push_back(cell.output[i]);
  }
  return all;
}

// What does not belong to its space may be a wiring of its operations all the same: then the error says so.
void validate_or_point_to_cells(const Space& space, const Genotype& genotype) {
  try {
    space.validate(genotype);
  } catch (const Error& error) {
    Genotype other = genotype;
    other.space = "cells";
    try {
      find_space(other.space)->validate(other);
    } catch (const Error&) {
      throw error;
    }
    fail("{} Set its space to 'cells', to which it belongs.", error.what());
  }
}

}  // namespace

Topology topology_of(const CellGenotype& cell) { return {cell_width(cell), cell_depth(cell)}; }

std::string topology_title(const Topology& topology) {
  return fmt::format("{:.4g}c, {}", topology.width, topology.depth);
}

std::string topology_name(const Topology& topology) {
  return fmt::format("{:.4g}c-{}", topology.width, topology.depth);
}

WiringRules wiring_rules(const Space& space, const CellChoices& cell) {
  const auto& ops = space.genotype_ops();
  WiringRules rules{.repeat = cell.repeat_inputs};
  rules.none = !cell.ops_on_nodes && std::count(ops.begin(), ops.end(), "none") > 0;
  if (rules.none) rules.operations = static_cast<int>(ops.size()) - 1;
  return rules;
}

void for_each_wiring(const CellChoices& cell, const WiringRules& rules,
                     const std::function<void(const CellGenotype&, double count)>& visit) {
  std::vector<std::vector<Filling>> nodes;
  for (const NodeChoices& node : cell.nodes) nodes.push_back(fillings(node, rules));
  CellGenotype wired{.type = cell.type, .inputs = cell.inputs};
  wired.nodes.resize(cell.nodes.size());
  for (const std::vector<int>& output : outputs(cell)) {
    wired.output = output;
    const std::function<void(size_t, double)> fill = [&](size_t n, double count) {
      if (n == nodes.size()) {
        if (cell.loose_output) wired.output = loose_ends(wired);
        return visit(wired, count);
      }
      for (const Filling& filling : nodes[n]) {
        wired.nodes[n].edges.clear();
        for (int from : filling.from) wired.nodes[n].edges.push_back({from, "skip_connect"});
        fill(n + 1, count * filling.count);
      }
    };
    fill(0, 1);
  }
}

double count_wirings(const CellChoices& cell, const WiringRules& rules) {
  // NAS-Bench-101 limits the edges of a cell as a whole, not those of a node.
  const auto limited = [](const NodeChoices& node) { return node.keep > 0; };
  if (!std::all_of(cell.nodes.begin(), cell.nodes.end(), limited)) return INFINITY;
  double count = cell.output_keep > 0 ? binomial(static_cast<int>(cell.output.size()), cell.output_keep) : 1;
  for (const NodeChoices& node : cell.nodes) {
    const int inputs = static_cast<int>(node.inputs.size());
    count *= binomial(rules.repeat ? inputs + node.keep - 1 : inputs, node.keep);
    if (rules.none) count *= std::pow(2, node.keep);
  }
  return count;
}

Topology Wirings::narrowest() const {
  Topology least = counts.begin()->first;
  for (const auto& [topology, count] : counts) {
    least = {std::min(least.width, topology.width), std::min(least.depth, topology.depth)};
  }
  return least;
}

Topology Wirings::widest() const {
  Topology most = counts.begin()->first;
  for (const auto& [topology, count] : counts) {
    most = {std::max(most.width, topology.width), std::max(most.depth, topology.depth)};
  }
  return most;
}

double Wirings::share(const Topology& topology) const {
  double sum = 0;
  for (const auto& [other, count] : counts) {
    if (other.width >= topology.width - 1e-9 && other.depth <= topology.depth) sum += count;
  }
  return sum / total;
}

Wirings count_topologies(const CellChoices& cell, const WiringRules& rules) {
  Wirings all;
  for_each_wiring(cell, rules, [&](const CellGenotype& wired, double count) {
    all.counts[topology_of(wired)] += count;
    all.total += count;
  });
  return all;
}

CellChoices choices_of(const Genotype& genotype, const CellGenotype& cell) {
  const auto space = find_space(genotype.space);
  const CellChoices& own = space->cell(cell.type);
  const bool fits = own.nodes.size() == cell.nodes.size() && (own.loose_output || own.output == cell.output);
  if (fits || own.output_keep > 0 || own.ops_on_nodes) return own;
  CellChoices choices = dense_cell(cell.type, cell.inputs, static_cast<int>(cell.nodes.size()), 2);
  for (size_t n = 0; n < cell.nodes.size(); ++n) choices.nodes[n].keep = static_cast<int>(cell.nodes[n].edges.size());
  choices.output = cell.output;
  choices.repeat_inputs = own.repeat_inputs;
  return choices;
}

std::vector<CellTopology> analyse_topology(const Genotype& genotype, std::optional<bool> repeat) {
  const auto space = find_space(genotype.space);
  validate_or_point_to_cells(*space, genotype);
  std::vector<CellTopology> cells;
  for (const CellGenotype& cell : genotype.cells) {
    const CellChoices choices = choices_of(genotype, cell);
    WiringRules rules = wiring_rules(*space, choices);
    if (repeat) rules.repeat = *repeat;
    CellTopology& found = cells.emplace_back(CellTopology{cell.type, topology_of(cell)});
    if (count_wirings(choices, rules) <= kMostWirings) found.all = count_topologies(choices, rules);
  }
  return cells;
}

}  // namespace nascent

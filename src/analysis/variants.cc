#include "nascent/analysis/variants.h"

#include <algorithm>
#include <cmath>
#include <set>

#include "nascent/core/error.h"
#include "nascent/core/text.h"
#include "nascent/space/cell_space.h"
#include "nascent/space/plan.h"

namespace nascent {
namespace {

using Change = std::function<CellGenotype(const CellGenotype&)>;

void check_cells(const std::string& name, const Genotype& genotype) {
  for (const CellGenotype& cell : genotype.cells) {
    for (const GenotypeNode& node : cell.nodes) {
      if (!node.op.empty()) {
        fail(
            "{}: in the space '{}' operations stand on nodes, but variants need them on edges, as in DARTS and NASNet.",
            name, genotype.space);
      }
    }
    if (cell.inputs != 2) {
      fail("{}: its cells have {} input, but variants are made of cells with two, as those of DARTS and NASNet.", name,
           cell.inputs);
    }
  }
}

// In its own space where it belongs there, else among all wirings.
Genotype settled(Genotype genotype, const std::string& space) {
  genotype.space = space;
  try {
    find_space(space)->validate(genotype);
  } catch (const Error&) {
    genotype.space = "cells";
    find_space(genotype.space)->validate(genotype);
  }
  return genotype;
}

// The class of a genotype: of its wiring or, where operations are what was drawn, of both.
std::string class_of(const Genotype& genotype, bool operations) {
  std::string text;
  for (const CellGenotype& cell : genotype.cells) text += canonical_form(cell, operations) + "\n";
  return text;
}

// "a", "b", ..., "z", "aa", ...
std::string letters(size_t number) {
  std::string text;
  for (++number; number > 0; number = (number - 1) / 26)
    text.insert(text.begin(), static_cast<char>('a' + (number - 1) % 26));
  return text;
}

class Maker {
 public:
  Maker(std::string name, Genotype genotype, const VariantOptions& options, uint64_t seed)
      : name_(std::move(name)), base_(std::move(genotype)), options_(options), seed_(seed) {
    for (CellGenotype& cell : base_.cells) {
      for (GenotypeNode& node : cell.nodes) {
        for (GenotypeEdge& edge : node.edges) edge.op = options.fill.empty() ? edge.op : options.fill;
      }
    }
    wirings_.insert(class_of(base_, false));
    take("original", base_);
    found_.front().name = name_;
  }

  void add(const std::string& kind, const Change& change, double share = 0) {
    Genotype genotype = base_;
    for (CellGenotype& cell : genotype.cells) cell = change(cell);
    take(kind, std::move(genotype), share);
  }

  // Draws until there are `count` that differ, or for so long that there seem to be no more.
  void draw(const std::string& kind, int count, bool operations,
            const std::function<CellGenotype(const CellGenotype&, RandomStream&)>& change) {
    for (uint64_t number = 0, made = 0; made < static_cast<uint64_t>(count) && number < 1000 + 100ull * count;
         ++number) {
      Genotype genotype = base_;
      uint64_t type = 0;
      for (CellGenotype& cell : genotype.cells) {
        RandomStream random(seed_, "variants " + kind, {number, type++});
        cell = change(cell, random);
      }
      const bool new_wiring = operations || options_.isomorphic || wirings_.insert(class_of(genotype, false)).second;
      if (new_wiring && take(kind, std::move(genotype))) ++made;
    }
  }

  std::vector<Variant> finish() {
    for (Variant& variant : found_) variant.topology = topology_of(variant.genotype.cells.front());
    std::stable_sort(found_.begin() + 1, found_.end(), [](const Variant& a, const Variant& b) {
      return std::pair(a.topology.width, -a.topology.depth) < std::pair(b.topology.width, -b.topology.depth);
    });
    std::map<std::string, size_t> used;
    for (size_t i = 1; i < found_.size(); ++i) {
      const std::string stem = fmt::format("{}-{}", name_, topology_name(found_[i].topology));
      const bool special = found_[i].kind == "adapted" || found_[i].kind == "deepest";
      found_[i].name = stem + "-" + (special ? found_[i].kind : letters(used[stem]++));
    }
    return std::move(found_);
  }

 private:
  // False for what is there already under other numbers of its nodes.
  bool take(const std::string& kind, Genotype genotype, double share = 0) {
    if (!options_.isomorphic && !classes_.insert(class_of(genotype, true)).second) return false;
    found_.push_back({.kind = kind, .genotype = settled(std::move(genotype), base_.space), .share = share});
    return true;
  }

  std::string name_;
  Genotype base_;
  const VariantOptions& options_;
  uint64_t seed_;
  std::set<std::string> wirings_;  // of the original and of drawn connections
  std::set<std::string> classes_;  // of everything found: wiring and operations
  std::vector<Variant> found_;
};

}  // namespace

void VariantOptions::declare(OptionTable& table) {
  auto section = table.section("variants", "Which variants of a cell are made.");
  section.add("connections", connections, "number of variants with the same operations and random connections")
      .range(0, 10000);
  section.add("operations", operations, "number of variants with the same connections and random operations")
      .range(0, 10000);
  section.add("adapted", adapted, "include the widest and shallowest variant: every node takes both cell inputs");
  section.add("deepest", deepest, "include the deepest variant: every node takes the two states before it");
  section.add("fill", fill, "first set every edge to this operation; empty: keep the genotype's own");
  section.add("replace", replace, "operation that replaces others, with --shares");
  section.add("shares", shares, "fractions of the operations to replace, one variant for each, such as 0,0.375,0.625")
      .range(0, 1);
  section.add("repeat", repeat,
              "allow two edges of a node to come from the same state, and keep the output as it is (space cells); off: "
              "stay in the genotype's own space");
  section.add("isomorphic", isomorphic, "keep variants that differ only in the order of their nodes");
  section.add("ops", ops, "operations to draw from");
}

CellGenotype with_random_connections(const CellGenotype& cell, bool repeat, RandomStream& random) {
  CellGenotype drawn = cell;
  for (size_t n = 0; n < drawn.nodes.size(); ++n) {
    std::vector<GenotypeEdge>& edges = drawn.nodes[n].edges;
    const int64_t before = cell.inputs + static_cast<int64_t>(n);
    if (repeat || static_cast<int64_t>(edges.size()) > before) {
      for (GenotypeEdge& edge : edges) edge.from = static_cast<int>(random.below(before));
    } else {
      const std::vector<int64_t> order = random.permutation(before);
      for (size_t e = 0; e < edges.size(); ++e) edges[e].from = static_cast<int>(order[e]);
    }
  }
  return drawn;
}

CellGenotype with_random_operations(const CellGenotype& cell, const std::vector<std::string>& ops,
                                    RandomStream& random) {
  CellGenotype drawn = cell;
  for (GenotypeNode& node : drawn.nodes) {
    for (GenotypeEdge& edge : node.edges) edge.op = ops[random.below(static_cast<int64_t>(ops.size()))];
  }
  return drawn;
}

CellGenotype adapted(const CellGenotype& cell) {
  CellGenotype wide = cell;
  for (GenotypeNode& node : wide.nodes) {
    if (node.edges.size() != 2)
      fail("Only nodes of two edges can take both cell inputs; one has {}.", node.edges.size());
    int& first = node.edges[0].from;
    int& second = node.edges[1].from;
    if (first >= cell.inputs) first = second == 0 ? 1 : 0;
    if (second >= cell.inputs || second == first) second = 1 - first;
  }
  return wide;
}

CellGenotype deepest(const CellGenotype& cell) {
  CellGenotype deep = cell;
  for (size_t n = 0; n < deep.nodes.size(); ++n) {
    std::vector<GenotypeEdge>& edges = deep.nodes[n].edges;
    const int before = cell.inputs + static_cast<int>(n), count = static_cast<int>(edges.size());
    for (int e = 0; e < count; ++e) edges[e].from = std::max(0, before - count + e);
  }
  return deep;
}

CellGenotype with_replaced_operations(const CellGenotype& cell, const std::string& op, double share,
                                      RandomStream& random) {
  CellGenotype replaced = cell;
  std::vector<GenotypeEdge*> edges;
  for (GenotypeNode& node : replaced.nodes) {
    for (GenotypeEdge& edge : node.edges) edges.push_back(&edge);
  }
  const auto count = static_cast<size_t>(std::llround(share * static_cast<double>(edges.size())));
  const std::vector<int64_t> order = random.permutation(static_cast<int64_t>(edges.size()));
  for (size_t i = 0; i < std::min(count, edges.size()); ++i) edges[order[i]]->op = op;
  return replaced;
}

std::vector<Variant> make_variants(const std::string& name, const Genotype& genotype, const VariantOptions& options,
                                   uint64_t seed) {
  check_cells(name, genotype);
  if (options.operations > 0 && options.ops.empty()) fail("variants.ops: there are no operations to draw from.");
  Maker maker(name, genotype, options, seed);
  const auto space = find_space(genotype.space);
  // First what has a name: a drawn one that is the same gives way.
  if (options.adapted) maker.add("adapted", adapted);
  if (options.deepest) maker.add("deepest", deepest);
  maker.draw("connections", options.connections, false, [&](const CellGenotype& cell, RandomStream& random) {
    CellGenotype drawn = with_random_connections(cell, options.repeat, random);
    if (!options.repeat && space->cell(cell.type).loose_output) drawn.output = loose_ends(drawn);
    return drawn;
  });
  maker.draw("operations", options.operations, true, [&](const CellGenotype& cell, RandomStream& random) {
    return with_random_operations(cell, options.ops, random);
  });
  for (size_t i = 0; i < options.shares.size(); ++i) {
    uint64_t type = 0;
    maker.add(
        "replaced",
        [&](const CellGenotype& cell) {
          RandomStream random(seed, "variants replaced", {i, type++});
          return with_replaced_operations(cell, options.replace, options.shares[i], random);
        },
        options.shares[i]);
  }
  return maker.finish();
}

std::string variants_csv(const std::vector<Variant>& variants, const NetworkOptions& network, const Shape& input,
                         int classes) {
  std::string text = "name,kind,share";
  for (const CellGenotype& cell : variants.front().genotype.cells)
    text += fmt::format(",{0}_width,{0}_depth", cell.type);
  text += ",parameters,multiply_adds\n";
  for (const Variant& variant : variants) {
    text += fmt::format("{},{},{}", variant.name, variant.kind, variant.share);
    for (const CellGenotype& cell : variant.genotype.cells) {
      text += fmt::format(",{},{}", cell_width(cell), cell_depth(cell));
    }
    const NetworkPlan plan =
        plan_network(*find_space(variant.genotype.space), variant.genotype, network, input, classes);
    text += fmt::format(",{},{}\n", count_parameters(plan, /*with_auxiliary=*/network.auxiliary),
                        count_multiply_adds(plan));
  }
  return text;
}

}  // namespace nascent

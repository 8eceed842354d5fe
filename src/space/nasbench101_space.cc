// NAS-Bench-101: graphs of up to 7 vertices and 9 edges. Genotypes may hold loose nodes, which do not count; sample()
// and at() give none.
#include <algorithm>
#include <set>

#include "nascent/core/error.h"
#include "nascent/space/cell_space.h"
#include "nascent/space/nasbench101.h"
#include "nascent/space/nasbench101_graph.h"

namespace nascent {

namespace {

constexpr double kCount = 423624;

class NasBench101Space : public Space {
 public:
  NasBench101Space() {
    name_ = skeleton_ = "nasbench101";
    description_ = "NAS-Bench-101: graphs of up to 7 vertices and 9 edges, 3 operations on vertices";
    ops_ = genotype_ops_ = NasBench101Graphs::ops();
    CellChoices cell = dense_cell("cell", 1, kMaxVertices - 2, 0);
    cell.output = states(0, kMaxVertices - 2);
    cell.ops_on_nodes = true;
    cells_ = {cell};
    default_cells_ = 3;
  }

  double count() const override { return kCount; }

  Genotype sample(RandomStream& random) const override {
    return at(static_cast<double>(random.below(static_cast<int64_t>(kCount))));
  }

  Genotype at(double index) const override {
    if (!(index >= 0 && index < kCount)) {
      fail("The space '{}' has no architecture {}; they are numbered 0 to {:.0f}.", name_, index, kCount - 1);
    }
    return {name_, {NasBench101Graphs::instance().cell(static_cast<size_t>(index))}};
  }

  double index_of(const Genotype& genotype) const override {
    validate(genotype);
    return static_cast<double>(NasBench101Graphs::instance().find(prune(genotype.cell("cell"))));
  }

  void enumerate(const std::function<bool(const Genotype&)>& visit) const override {
    for (double index = 0; index < kCount; ++index) {
      if (!visit(at(index))) return;
    }
  }

  Genotype mutate(const Genotype& genotype, RandomStream& random) const override;
  void validate(const Genotype& genotype) const override;

 private:
  void validate_cell(const CellGenotype& cell) const;
  bool is_valid(const Genotype& genotype) const;
};

void check_states(const std::vector<int>& taken, int end, const std::string& where) {
  std::set<int> seen;
  for (int state : taken) {
    if (state < 0 || state >= end)
      fail("{} takes state {}, but the states before it are 0 to {}.", where, state, end - 1);
    if (!seen.insert(state).second) fail("{} takes state {} twice.", where, state);
  }
}

std::vector<int> sources(const GenotypeNode& node) {
  std::vector<int> taken;
  for (const GenotypeEdge& edge : node.edges) taken.push_back(edge.from);
  return taken;
}

int edge_count(const CellGenotype& cell) {
  size_t sum = cell.output.size();
  for (const GenotypeNode& node : cell.nodes) sum += node.edges.size();
  return static_cast<int>(sum);
}

void NasBench101Space::validate_cell(const CellGenotype& cell) const {
  const int nodes = static_cast<int>(cell.nodes.size());
  if (cell.inputs != 1) fail("A NAS-Bench-101 cell has 1 input, but this one has {}.", cell.inputs);
  if (nodes > kMaxVertices - 2) {
    fail("A NAS-Bench-101 cell has at most {} vertices with input and output, but this one has {}.", kMaxVertices,
         nodes + 2);
  }
  for (int n = 0; n < nodes; ++n) {
    const std::string where = fmt::format("Node {}", n + 1);
    const std::string& op = cell.nodes[n].op;
    if (std::find(ops_.begin(), ops_.end(), op) == ops_.end()) {
      fail("{}: '{}' is not an operation of NAS-Bench-101.{} Expected one of {}.", where, op, suggestion(op, ops_),
           join(ops_, ", "));
    }
    check_states(sources(cell.nodes[n]), n + 1, where);
    for (const GenotypeEdge& edge : cell.nodes[n].edges) {
      if (edge.op != "skip_connect")
        fail("{} has '{}' on an edge, but operations stand on nodes here.", where, edge.op);
    }
  }
  check_states(cell.output, nodes + 1, "The output");
}

void NasBench101Space::validate(const Genotype& genotype) const {
  if (genotype.cells.size() != 1)
    fail("A NAS-Bench-101 genotype has 1 cell, but this one has {}.", genotype.cells.size());
  const CellGenotype& cell = genotype.cell("cell");
  validate_cell(cell);
  const int edges = edge_count(prune(cell));
  if (edges > kMaxEdges) fail("A NAS-Bench-101 cell has at most {} edges, but this one has {}.", kMaxEdges, edges);
}

bool NasBench101Space::is_valid(const Genotype& genotype) const {
  try {
    validate(genotype);
    return true;
  } catch (const Error&) {
    return false;
  }
}

// Loose nodes fill the cell up first: a mutation may then grow it, over several steps.
Genotype NasBench101Space::mutate(const Genotype& genotype, RandomStream& random) const {
  validate(genotype);
  const Genotype full = to_nasbench101(genotype);
  for (;;) {
    Genotype child = full;
    CellGenotype& cell = child.cells[0];
    if (random.uniform() < 0.5) {
      std::string& op = cell.nodes[random.below(kMaxVertices - 2)].op;
      const auto here = std::find(ops_.begin(), ops_.end(), op) - ops_.begin();
      op = ops_[(here + 1 + random.below(2)) % 3];
    } else {
      AdjacencyMatrix matrix = adjacency_matrix(cell);
      const auto to = 1 + random.below(kMaxVertices - 1), from = random.below(to);
      matrix[from][to] ^= 1;
      std::vector<std::string> ops;
      for (const GenotypeNode& node : cell.nodes) ops.push_back(node.op);
      cell = cell_of_matrix(matrix, ops);
    }
    if (is_valid(child)) return child;
  }
}

}  // namespace

NASCENT_REGISTER(Space, "nasbench101", "graphs of up to 7 vertices and 9 edges, 423 624 architectures",
                 [] { return std::make_shared<const NasBench101Space>(); });

}  // namespace nascent
